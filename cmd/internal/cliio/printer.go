package cliio

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"sync"
)

// Printer is the mouth of one command. It is safe for concurrent use.
type Printer struct {
	Program string // as it was called: "paddlectl"
	Command string // "cp", "file put"; empty before it is known
	Out     *Output
	Err     io.Writer

	// Plain passes names on as they are: standard output is no terminal.
	Plain bool

	mu    sync.Mutex
	noted map[string]bool
}

// Printf writes a part of the result.
func (p *Printer) Printf(format string, args ...any) {
	fmt.Fprintf(p.Out, format, args...) // an error shows when Out is flushed
}

// JSON writes v as one line of the result.
func (p *Printer) JSON(v any) error {
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := p.Out.Write(line.Bytes())
	return err
}

// Name returns a name or path as the result shows it: what could upset a terminal
// is escaped where there is one.
func (p *Printer) Name(s string) string {
	if p.Plain {
		return s
	}
	return Escape(s)
}

// Message writes one line to standard error, after the names of program and
// command.
func (p *Printer) Message(format string, args ...any) {
	p.message(Escape(fmt.Sprintf(format, args...)))
}

// Note is Message, but the same line is written once.
func (p *Printer) Note(format string, args ...any) {
	line := Escape(fmt.Sprintf(format, args...))
	p.mu.Lock()
	if p.noted == nil {
		p.noted = map[string]bool{}
	}
	again := p.noted[line]
	p.noted[line] = true
	p.mu.Unlock()
	if !again {
		p.message(line)
	}
}

func (p *Printer) message(line string) {
	// What was printed before stands before, where both go to one place. An error
	// stays in Out, and is told at the end.
	_ = p.Out.Flush()
	who := p.Program + ": "
	if p.Command != "" {
		who += p.Command + ": "
	}
	fmt.Fprintln(p.Err, who+line)
}
