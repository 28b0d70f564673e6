# Completion of djinn for bash, 4.4 or newer.
_djinn_completion() {
    local line
    COMPREPLY=()
    while IFS= read -r line; do
        case $line in
            /) compopt -o dirnames 2>/dev/null ;;
            =*) COMPREPLY+=("${line#=}") ;;
        esac
    done < <(_DJINN_COMPLETE=bash "${1/#\~\//$HOME/}" "${COMP_LINE:0:COMP_POINT}" \
        "$COMP_WORDBREAKS" 2>/dev/null </dev/null)
}
complete -F _djinn_completion djinn
