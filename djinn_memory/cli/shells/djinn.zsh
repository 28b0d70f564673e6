#compdef djinn
# Completion of djinn for zsh, sourced or found by fpath.
_djinn() {
    local line
    local -a before values shown
    (( CURRENT > 2 )) && before=("${(@Q)words[2,CURRENT-1]}")
    while IFS= read -r line; do
        case $line in
            /) compset -P '*='; _files -/; return ;;
            '='*) values+=("${${line#=}%%$'\t'*}"); shown+=("${${line#=}/$'\t'/  -- }") ;;
        esac
    done < <(_DJINN_COMPLETE=zsh djinn "${before[@]}" "${(Q)PREFIX}" 2>/dev/null </dev/null)
    (( $#values )) && compadd -l -d shown -a values
}
if [[ $funcstack[1] == _djinn ]]; then
    _djinn "$@"
else
    (( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
    compdef _djinn djinn
fi
