# Completion of paddlectl for fish: ~/.config/fish/completions/paddlectl.fish
function __paddlectl_complete
    set -l words (commandline -opc)
    $words[1] __complete -- $words[2..-1] (commandline -ct) 2>/dev/null
end
for program in paddlectl paddlecloud
    complete -c $program -a '(__paddlectl_complete)'
end
