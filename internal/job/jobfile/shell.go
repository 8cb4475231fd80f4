package jobfile

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// shells are the programs whose option -c takes a script.
var shells = []string{"sh", "bash", "/bin/sh", "/bin/bash"}

// script returns the script of a container that runs a shell, and the shell.
func script(c *corev1.Container) (shell, text string, ok bool) {
	argv := append(slices.Clone(c.Command), c.Args...)
	if len(argv) != 3 || !slices.Contains(shells, argv[0]) || argv[1] != "-c" {
		return "", "", false
	}
	return argv[0], expandShell(argv[2], c.Env), true
}

// commandLine returns what a container runs, for a shell; "" if that is the command of its image.
func commandLine(c *corev1.Container) string {
	if shell, text, ok := script(c); ok && strings.HasSuffix(shell, "/sh") || ok && shell == "sh" {
		return text
	}
	var words []string
	for _, w := range append(slices.Clone(c.Command), c.Args...) {
		words = append(words, quote(w, c.Env))
	}
	return strings.Join(words, " ")
}

// bashScript is commandLine for systems that run bash.
func bashScript(c *corev1.Container) string {
	if _, text, ok := script(c); ok {
		return text
	}
	return commandLine(c)
}

// reference matches what Kubernetes replaces in arguments: "$$" and "$(NAME)".
var reference = atFirstUse(`\$\$|\$\(([A-Za-z_][A-Za-z0-9_.-]*)\)`)

// injected matches the variables that the operator of PaddleJobs sets.
var injected = atFirstUse(`^(PADDLE_.*|POD_IP|TRAINING_ROLE|TRAINER_PORTS_NUM)$`)

// variable returns what Kubernetes puts in the place of a match of reference: a "$", or the variable called name, which is
// "" where it replaces nothing.
func variable(match string, env []corev1.EnvVar) (name string, dollar bool) {
	if match == "$$" {
		return "", true
	}
	name = match[2 : len(match)-1]
	if injected().MatchString(name) || slices.ContainsFunc(env, func(e corev1.EnvVar) bool { return e.Name == name }) {
		return name, false
	}
	return "", false
}

// expandShell returns a script in which the shell replaces what Kubernetes would have replaced.
func expandShell(text string, env []corev1.EnvVar) string {
	return reference().ReplaceAllStringFunc(text, func(m string) string {
		switch name, dollar := variable(m, env); {
		case dollar:
			return "$"
		case name != "":
			return "${" + name + "}"
		}
		return m
	})
}

// escapeKube is the reverse: Kubernetes leaves the result as text was.
func escapeKube(text string) string {
	var b strings.Builder
	for i, r := range text {
		b.WriteRune(r)
		if r == '$' && i+1 < len(text) && (text[i+1] == '$' || text[i+1] == '(') {
			b.WriteRune('$')
		}
	}
	return b.String()
}

var plainWord = atFirstUse(`^[A-Za-z0-9_@%+=:,./-]+$`)

// quote returns an argument of a container as a word of a shell.
func quote(arg string, env []corev1.EnvVar) string {
	if plainWord().MatchString(arg) {
		return arg
	}
	var b strings.Builder
	var literal strings.Builder
	flush := func() {
		if literal.Len() > 0 {
			b.WriteString("'" + strings.ReplaceAll(literal.String(), "'", `'\''`) + "'")
			literal.Reset()
		}
	}
	last := 0
	for _, m := range reference().FindAllStringIndex(arg, -1) {
		literal.WriteString(arg[last:m[0]])
		last = m[1]
		switch name, dollar := variable(arg[m[0]:m[1]], env); {
		case dollar:
			literal.WriteByte('$')
		case name == "":
			literal.WriteString(arg[m[0]:m[1]])
		default:
			flush()
			b.WriteString(`"${` + name + `}"`)
		}
	}
	literal.WriteString(arg[last:])
	flush()
	if b.Len() == 0 {
		return "''"
	}
	return b.String()
}
