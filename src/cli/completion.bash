# SPDX-License-Identifier: GPL-2.0-or-later
# Words come from upto itself: its commands, and the options that a command declares.
_upto()
{
	local cur=${COMP_WORDS[COMP_CWORD]} command= word

	for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
		[[ $word != -* ]] && command=$word && break
	done
	COMPREPLY=()
	if [[ -z $command ]]; then
		COMPREPLY=($(compgen -W "$(upto --complete)" -- "$cur"))
	elif [[ $cur == -* ]]; then
		COMPREPLY=($(compgen -W "$(upto --complete "$command")" -- "$cur"))
		[[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace
	else
		compopt -o filenames
		COMPREPLY=($(compgen -f -- "$cur"))
	fi
}
complete -F _upto upto
