#compdef PROGRAM ALIASES
# Completion of PROGRAM for zsh: put this into a folder of your fpath as _PROGRAM.
_PROGRAM() {
	local -a found open closed
	found=("${(@f)$("${words[1]}" __complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
	found=(${found:#})
	if (( ! $#found )); then
		_files
		return
	fi
	# A directory goes on: no space behind it.
	open=(${(M)found:#*/})
	closed=(${found:#*/})
	compadd -S '' -a open
	compadd -a closed
}
# Found in fpath, the script itself is the first call of the function.
if [[ ${zsh_eval_context[-1]} == loadautofunc ]]; then
	_PROGRAM "$@"
else
	compdef _PROGRAM PROGRAM ALIASES
fi
