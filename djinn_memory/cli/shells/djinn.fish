# Completion of djinn for fish, 3.1 or newer.
function __djinn_complete
    set -l before (commandline -opc)
    set -e before[1]
    set -l current (commandline -ct)
    env _DJINN_COMPLETE=fish djinn $before "$current" 2>/dev/null </dev/null | while read -l line
        switch $line
            case /
                __fish_complete_directories "$current" ''
            case '=*'
                string sub -s 2 -- $line
        end
    end
end
complete -c djinn -f -a '(__djinn_complete)'
