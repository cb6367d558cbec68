#compdef hangdbg
# zsh: completion of hangdbg. The program itself knows what may come next:
# `hangdbg __complete WORDS` prints it, a word and what it is a line.
_hangdbg() {
  local line files=
  local -a found
  for line in "${(@f)$("${words[1]}" __complete "${(@)words[2,CURRENT-1]}" "$PREFIX" 2>/dev/null)}"; do
    if [[ $line == :files ]]; then
      files=1
    elif [[ -n $line ]]; then
      found+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
    fi
  done
  (( $#found == 0 )) || _describe -V hangdbg found
  [[ -z $files ]] || _files
}
if [[ $funcstack[1] == _hangdbg ]]; then
  _hangdbg "$@"
else
  compdef _hangdbg hangdbg
fi
