package job

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"time"
)

// The log of a rank is a sequence of files in its directory, LogName(1), LogName(2) and so on. Only the
// last one grows; the first ones are removed when there are too many. A line is in the format that
// Kubernetes uses for containers: TIME STREAM TAG TEXT. The tag is P if the line continues in the next
// line of its stream, else F.

// The streams of a log line.
const (
	Stdout = "stdout"
	Stderr = "stderr"
)

// MaxLogText is the most text in one line of a log file.
const MaxLogText = 16 << 10

// LogName returns the name of the nth file of a log, counted from 1. Names sort like numbers.
func LogName(n int) string { return fmt.Sprintf("%08d.log", n) }

// LogLine is a line of a log file.
type LogLine struct {
	Time    time.Time
	Stream  string
	Partial bool
	Text    []byte // without the newline
}

// Append appends the line, as it is in a log file, to b.
func (l LogLine) Append(b []byte) []byte {
	tag := " F "
	if l.Partial {
		tag = " P "
	}
	b = l.Time.UTC().AppendFormat(b, "2006-01-02T15:04:05.000000000Z07:00")
	b = append(b, ' ')
	b = append(b, l.Stream...)
	b = append(b, tag...)
	b = append(b, l.Text...)
	return append(b, '\n')
}

// ParseLogLine parses a line of a log file without its newline. ok is false if it is not one, for
// instance because the launcher was killed while it wrote.
func ParseLogLine(line []byte) (l LogLine, ok bool) {
	stamp, rest, _ := bytes.Cut(line, []byte(" "))
	stream, rest, _ := bytes.Cut(rest, []byte(" "))
	tag, text, ok := bytes.Cut(rest, []byte(" "))
	t, err := time.Parse(time.RFC3339Nano, string(stamp))
	if !ok || err != nil || len(tag) != 1 || (string(stream) != Stdout && string(stream) != Stderr) {
		return LogLine{}, false
	}
	return LogLine{Time: t, Stream: string(stream), Partial: tag[0] == 'P', Text: text}, true
}

// maxLogLine is the most bytes in a line of a log file.
const maxLogLine = MaxLogText + 64

// LogLines passes the lines of a log that opts selects, by Since and Lines, to emit. r has the files of
// the log one after the other. Parts of a long line count as lines.
func LogLines(r io.Reader, opts LogOptions, emit func(LogLine) error) error {
	in := bufio.NewScanner(r)
	in.Buffer(make([]byte, 0, maxLogLine), 2*maxLogLine)
	var last []LogLine // the last opts.Lines, as a ring
	n := 0
	for in.Scan() {
		l, ok := ParseLogLine(in.Bytes())
		switch {
		case !ok || l.Time.Before(opts.Since):
		case opts.Lines < 0:
			if err := emit(l); err != nil {
				return err
			}
		case opts.Lines > 0:
			l.Text = bytes.Clone(l.Text)
			if len(last) < opts.Lines {
				last = append(last, l)
			} else {
				last[n%len(last)] = l
			}
			n++
		}
	}
	for i := range last {
		if err := emit(last[(n+i)%len(last)]); err != nil {
			return err
		}
	}
	return in.Err()
}

// AppendWorkerLine appends the line as Engine.Logs writes it.
func AppendWorkerLine(b []byte, worker string, l LogLine) []byte {
	b = append(b, worker...)
	return l.Append(append(b, ' '))
}

// ParseWorkerLine parses a line that Engine.Logs wrote, without its newline.
func ParseWorkerLine(line []byte) (worker string, l LogLine, ok bool) {
	name, rest, _ := bytes.Cut(line, []byte(" "))
	l, ok = ParseLogLine(rest)
	return string(name), l, ok
}
