#compdef upto
# SPDX-License-Identifier: GPL-2.0-or-later
# Words and what they are for come from upto itself: its commands, and the options that a command declares.
_upto()
{
	setopt localoptions extendedglob
	local command word tab=$'\t'
	local -a described switches valued

	for word in "${(@)words[2,CURRENT-1]}"; do
		[[ $word != -* ]] && command=$word && break
	done
	if [[ -n $command && $PREFIX != -* ]]; then
		_files
		return
	fi
	# "word<tab>what it is for"; _describe wants a colon between them
	described=("${(@f)$(upto --describe $command)}")
	described=("${(@)described//:/\\:}")
	described=("${(@)described/$tab/:}")
	if [[ -z $command ]]; then
		_describe -t commands 'upto command' described
		return
	fi
	switches=("${(@)described:#--[^:]##=:*}")
	valued=("${(@M)described:#--[^:]##=:*}")
	_describe -o option switches -- valued -S ''
}
_upto "$@"
