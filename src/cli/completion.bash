# SPDX-License-Identifier: GPL-2.0-or-later
_upto()
{
	local cur=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]}

	COMPREPLY=()
	if [ "$COMP_CWORD" -eq 1 ]; then
		COMPREPLY=($(compgen -W "$(upto --complete)" -- "$cur"))
	elif [[ $cur == -* ]]; then
		COMPREPLY=($(compgen -W "$(upto --complete "$command")" -- "$cur"))
		[[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace
	else
		COMPREPLY=($(compgen -f -- "$cur"))
	fi
}
complete -o filenames -F _upto upto
