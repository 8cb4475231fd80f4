package app

import (
	"fmt"
	"io/fs"
	"runtime"
	"strings"
	"time"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/pfs"
)

// entryJSON is a file, directory or link as --json prints it.
type entryJSON struct {
	Path    string    `json:"path"`
	Name    string    `json:"name"`
	Type    string    `json:"type"`
	Size    int64     `json:"size"`
	Mode    string    `json:"mode"`
	ModTime time.Time `json:"mtime"`
	Owner   string    `json:"owner,omitempty"`
	Group   string    `json:"group,omitempty"`
	Target  string    `json:"target,omitempty"`
	Version string    `json:"version,omitempty"`
	Digest  string    `json:"digest,omitempty"`
}

// NewEntryJSON returns the JSON form of the entry info at name.
func NewEntryJSON(name pfs.Path, info pfs.Info) entryJSON {
	return entryJSON{
		Path: string(name), Name: info.Name, Type: TypeName(info), Size: info.Size, Mode: Octal(info.Mode),
		ModTime: info.ModTime.UTC(), Owner: info.Owner, Group: info.Group, Target: info.Target,
		Version: info.Version, Digest: info.Digest,
	}
}

// TypeName returns the type of an entry in one word.
func TypeName(info pfs.Info) string {
	switch {
	case info.IsDir():
		return "directory"
	case info.IsLink():
		return "link"
	case info.IsRegular():
		return "file"
	}
	return "special"
}

// Octal formats the permission bits as chmod takes them: "0644".
func Octal(mode fs.FileMode) string {
	const digits = "01234567"
	p := mode.Perm()
	return string([]byte{'0', digits[p>>6&7], digits[p>>3&7], digits[p&7]})
}

// ModeText formats type and permission bits as ls does: "drwxr-xr-x".
func ModeText(info pfs.Info) string {
	kind := "-"
	switch {
	case info.IsDir():
		kind = "d"
	case info.IsLink():
		kind = "l"
	case !info.IsRegular():
		kind = "s"
	}
	return kind + strings.TrimPrefix(info.Mode.Perm().String(), "-")
}

// TimeText formats a time in the local zone.
func TimeText(t time.Time) string { return t.Local().Format("2006-01-02 15:04") }

// SizeText formats a size in bytes, followed by the short form if that differs.
func SizeText(n int64) string {
	if n < 1024 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%d (%s)", n, cliio.Size(n))
}

// Count formats a number and a noun: "1 file", "2 files".
func Count(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// Pad fills s with spaces up to the given number of columns.
func Pad(s string, columns int) string {
	return s + strings.Repeat(" ", max(0, columns-cliio.Columns(s)))
}

// ShellLine quotes a command so that it can be pasted into a shell.
func ShellLine(args []string) string {
	words := make([]string, len(args))
	for i, a := range args {
		words[i] = ShellWord(a)
	}
	return strings.Join(words, " ")
}

// ShellWord quotes s if a shell would change it.
func ShellWord(s string) string {
	if runtime.GOOS == "windows" && isQuoted(posixWord(s)) {
		return `"` + s + `"`
	}
	return posixWord(s)
}

func isQuoted(word string) bool { return word[0] == '\'' }

// posixWord is ShellWord for Unix shells.
func posixWord(s string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%_-+=:,./"
	isPlain := func(r rune) bool { return strings.ContainsRune(plain, r) }
	if s != "" && strings.TrimFunc(s, isPlain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
