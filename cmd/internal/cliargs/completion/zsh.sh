#compdef PROGRAM ALIASES
# Completion of PROGRAM for zsh: put this into a directory of your fpath as _PROGRAM.
_PROGRAM() {
	local -a found open closed
	found=("${(@f)$("${words[1]}" __complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
	found=(${found:#})
	if (( ! $#found )); then
		_files
		return
	fi
	# No space after a directory.
	open=(${(M)found:#*/})
	closed=(${found:#*/})
	compadd -S '' -a open
	compadd -a closed
}
# When zsh loads this script from fpath, it runs it as the first call of the function.
if [[ ${zsh_eval_context[-1]} == loadautofunc ]]; then
	_PROGRAM "$@"
else
	compdef _PROGRAM PROGRAM ALIASES
fi
