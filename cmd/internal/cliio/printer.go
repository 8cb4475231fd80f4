package cliio

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"sync"
)

// Printer writes the output of one command. It is safe for concurrent use.
type Printer struct {
	Program string // as it was called: "paddlectl"
	Command string // "cp", "file put"; empty until known
	Out     *Output
	Err     io.Writer

	// Plain leaves names unchanged: standard output is not a terminal.
	Plain bool

	mu    sync.Mutex
	noted map[string]bool
}

// Printf writes a part of the result.
func (p *Printer) Printf(format string, args ...any) {
	fmt.Fprintf(p.Out, format, args...) // an error appears when Out is flushed
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

// Show writes v as JSON, or else the text of format. An error appears when Out is flushed.
func (p *Printer) Show(asJSON bool, v any, format string, args ...any) {
	if asJSON {
		_ = p.JSON(v)
		return
	}
	p.Printf(format, args...)
}

// Name returns a name or path as the result shows it: on a terminal, control characters are
// escaped.
func (p *Printer) Name(s string) string {
	if p.Plain {
		return s
	}
	return Escape(s)
}

// Message writes one line to standard error, after the names of program and command.
func (p *Printer) Message(format string, args ...any) {
	p.message(Escape(fmt.Sprintf(format, args...)))
}

// Note is Message for lines that are written only once.
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
	// Flush first, for the order if both go to one place. Out keeps an error, which is reported at
	// the end.
	_ = p.Out.Flush()
	who := p.Program + ": "
	if p.Command != "" {
		who += p.Command + ": "
	}
	fmt.Fprintln(p.Err, who+line)
}
