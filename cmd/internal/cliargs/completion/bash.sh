# Completion of PROGRAM for bash: source <(PROGRAM completion bash)
_PROGRAM() {
	local line=${COMP_LINE:0:COMP_POINT} words cur prefix IFS
	read -ra words <<<"$line"
	[[ $line == *[[:space:]] ]] && words+=("")
	cur=${words[${#words[@]}-1]}
	IFS=$'\n'
	COMPREPLY=($("${words[0]}" __complete -- "${words[@]:1}" 2>/dev/null))
	# No space after a directory or "--flag=".
	[[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[/=] ]] && compopt -o nospace 2>/dev/null
	# bash replaces only the text after the last of these characters.
	prefix=${cur%"${cur##*[@:=]}"}
	COMPREPLY=("${COMPREPLY[@]#"$prefix"}")
}
complete -o default -F _PROGRAM PROGRAM ALIASES
