package split

import (
	"fmt"
	"strconv"
	"strings"
)

// Of is the meaning of the number after -of-.
type Of uint8

// The two meanings; see the package documentation.
const (
	OfCount Of = iota // the number of files
	OfLast            // the number of the last file, counted from 0
)

// Pattern names the files of a set. The zero Pattern is invalid; use ParsePattern. Patterns are
// values and safe for concurrent use.
type Pattern struct {
	before, after string // literal text around the verbs
	digits        int    // of the file number
	ofDigits      int    // of the number after -of-; 0 if there is none
	of            Of
}

// maxDigits keeps file numbers within an int64.
const maxDigits = 18

// ParsePattern parses a pattern such as "train-%05d.pickle" or "train-%05d-of-%05d". of applies
// only to the second form. The error is ErrPattern.
func ParsePattern(text string, of Of) (Pattern, error) {
	if i := strings.IndexAny(text, "\x00\n\r"); i >= 0 {
		return Pattern{}, badPattern(text, "a name must not hold the character %q", text[i])
	}
	if of > OfLast {
		return Pattern{}, badPattern(text, "unknown meaning %d of the number after -of-", of)
	}
	p := Pattern{of: of}
	before, rest, err := literal(text)
	if err != nil {
		return Pattern{}, err
	}
	if rest == "" {
		return Pattern{}, badPattern(text, "it has no number: write %%05d where the number of the file belongs")
	}
	if p.digits, rest, err = verb(text, rest); err != nil {
		return Pattern{}, err
	}
	p.before = before
	if strings.HasPrefix(rest, "-of-%0") {
		if p.ofDigits, rest, err = verb(text, strings.TrimPrefix(rest, "-of-")); err != nil {
			return Pattern{}, err
		}
	}
	if p.after, rest, err = literal(rest); err != nil {
		return Pattern{}, err
	}
	if rest != "" {
		return Pattern{}, badPattern(text, "%q is one number too many: only %%05d or %%05d-of-%%05d", rest)
	}
	return p, nil
}

// Escape returns a pattern that matches name literally, for use before or after a verb.
func Escape(name string) string { return strings.ReplaceAll(name, "%", "%%") }

// literal cuts text before its first verb and unescapes %%.
func literal(text string) (lit, rest string, err error) {
	var b strings.Builder
	for {
		i := strings.IndexByte(text, '%')
		if i < 0 {
			b.WriteString(text)
			return b.String(), "", nil
		}
		b.WriteString(text[:i])
		if !strings.HasPrefix(text[i:], "%%") {
			return b.String(), text[i:], nil
		}
		b.WriteByte('%')
		text = text[i+2:]
	}
}

// verb parses the %0Wd at the start of rest; text is the whole pattern, for messages.
func verb(text, rest string) (digits int, tail string, err error) {
	width, tail, found := strings.Cut(rest, "d")
	width, zero := strings.CutPrefix(width, "%0")
	digits, convErr := strconv.Atoi(width)
	switch {
	case !found || !zero || convErr != nil || width[0] < '1' || width[0] > '9':
		return 0, "", badPattern(text, "%.8q is not %%05d (digits with zeros, so that names sort as text); a percent sign is %%%%", rest)
	case digits > maxDigits:
		return 0, "", badPattern(text, "%d digits are too many: at most %d", digits, maxDigits)
	}
	return digits, tail, nil
}

func badPattern(text, format string, args ...any) error {
	return fmt.Errorf("%w %q: %s", ErrPattern, text, fmt.Sprintf(format, args...))
}

// HasTotal reports whether names contain the number of files, and so are known only when that
// number is.
func (p Pattern) HasTotal() bool { return p.ofDigits > 0 }

// Name returns the name of file i of a set of files; files is ignored if p has no total. The error
// is ErrDigits or, for a zero Pattern, ErrPattern.
func (p Pattern) Name(i, files int) (string, error) {
	if p.digits == 0 {
		return "", badPattern("", "it was not parsed")
	}
	number, err := digits(i, p.digits)
	if err != nil {
		return "", err
	}
	if !p.HasTotal() {
		return p.before + number + p.after, nil
	}
	if p.of == OfLast {
		files--
	}
	total, err := digits(files, p.ofDigits)
	if err != nil {
		return "", err
	}
	return p.before + number + "-of-" + total + p.after, nil
}

// digits formats n with at least width digits. It refuses a number with more digits, because its
// name would sort before that of a smaller number.
func digits(n, width int) (string, error) {
	s := strconv.Itoa(n)
	if len(s) > width {
		return "", fmt.Errorf("%w: %d has more than %d digits: write %%0%dd, or put more records into a file",
			ErrDigits, n, width, len(s))
	}
	return strings.Repeat("0", width-len(s)) + s, nil
}
