# Completion of PROGRAM for fish: ~/.config/fish/completions/PROGRAM.fish
function __PROGRAM_complete
    set -l words (commandline -opc)
    $words[1] __complete -- $words[2..-1] (commandline -ct) 2>/dev/null
end
for program in PROGRAM ALIASES
    complete -c $program -a '(__PROGRAM_complete)'
end
