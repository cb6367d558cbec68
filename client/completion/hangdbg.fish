# fish: completion of hangdbg. The program itself knows what may come next:
# `hangdbg __complete WORDS` prints it, a word and what it is a line.
function __hangdbg_complete
    set -l words (commandline -opc) (commandline -ct)
    for line in ($words[1] __complete $words[2..] 2>/dev/null)
        if test "$line" = :files
            __fish_complete_path (commandline -ct)
        else
            echo $line
        end
    end
end
complete -c hangdbg -f -k -a '(__hangdbg_complete)'
