# SPDX-License-Identifier: GPL-2.0-or-later
# Words and what they are for come from upto itself: its commands, and the options that a command declares.
function __upto_command
    set -l words (commandline -opc)
    set -e words[1]
    for word in $words
        if not string match -q -- '-*' $word
            echo $word
            return 0
        end
    end
    return 1
end

complete -c upto -n 'not __upto_command' -f -a '(upto --describe)'
complete -c upto -n __upto_command -a '(upto --describe (__upto_command))'
