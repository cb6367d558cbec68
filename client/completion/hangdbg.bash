# bash: completion of hangdbg. The program itself knows what may come next:
# `hangdbg __complete WORDS` prints it, a word and what it is a line.
_hangdbg() {
  local line=${COMP_LINE:0:COMP_POINT} word help typed
  local -a words found=() shown=()
  read -ra words <<<"$line"
  [[ $line != *[[:space:]] ]] || words+=("")
  typed=${words[-1]}
  # For bash a word begins behind each of these; it replaces no more than that.
  typed=${typed%"${typed##*[=:]}"}
  while IFS=$'\t' read -r word help; do
    if [[ $word == :files ]]; then
      compopt -o default
    else
      found+=("${word#"$typed"}")
      shown+=("${word#"$typed"}${help:+  ($help)}")
    fi
  done < <("$1" __complete "${words[@]:1}" 2>/dev/null)
  COMPREPLY=("${found[@]}")
  if ((${#found[@]} == 1)); then
    [[ ${found[0]} != *= ]] || compopt -o nospace
  elif ((COMP_TYPE == 63)); then # the list that a second Tab shows
    local i
    for i in "${!shown[@]}"; do
      COMPREPLY[i]=${shown[i]:0:${COLUMNS:-80}-2}
    done
  fi
}
complete -o nosort -F _hangdbg hangdbg
