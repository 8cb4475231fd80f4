package output

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
)

// formatVersion is the version of manifest and marker.
const formatVersion = 1

// File is one file of a manifest.
type File struct {
	Path   string // below the directory of the manifest
	Size   int64
	Digest string
	Mode   uint32 // permission bits
}

// LeftOut is an entry that is not at the store.
type LeftOut struct {
	Path   string `json:"path"` // quoted as in Go if it is no path
	Reason string `json:"reason"`

	// Lost is true if content is missing, so that the outputs are incomplete. A socket, for example, has no content.
	Lost bool `json:"lost,omitempty"`
}

// A manifest is a sequence of JSON objects, one a line: a head, the files sorted by path, the entries that were left
// out, and a tail with the totals.
type (
	manifestHead struct {
		Version int `json:"pfs_outputs"`
		Run
	}
	manifestFile struct {
		Path   string `json:"path"`
		Size   int64  `json:"size"`
		Digest string `json:"digest"`
		Mode   string `json:"mode"` // octal
	}
	manifestTail struct {
		Files int64 `json:"files"`
		Bytes int64 `json:"bytes"`
		Left  int64 `json:"left_out"`
	}
	// manifestLine is any line after the head: exactly one field is set.
	manifestLine struct {
		File *manifestFile `json:"file,omitempty"`
		Left *LeftOut      `json:"left_out,omitempty"`
		End  *manifestTail `json:"end,omitempty"`
	}
)

// Run names one run of a rank.
type Run struct {
	Worker  string `json:"worker"` // ROLE-INDEX
	Attempt int    `json:"attempt"`
	Restart int    `json:"restart"`
}

// manifestWriter writes a manifest.
type manifestWriter struct {
	to   *json.Encoder
	tail manifestTail
}

func newManifestWriter(w io.Writer, run Run) (*manifestWriter, error) {
	m := &manifestWriter{to: json.NewEncoder(w)}
	m.to.SetEscapeHTML(false)
	return m, m.to.Encode(manifestHead{formatVersion, run})
}

// file adds a file. Files come sorted by path, before everything that was left out.
func (m *manifestWriter) file(f File) error {
	m.tail.Files++
	m.tail.Bytes += f.Size
	return m.to.Encode(manifestLine{File: &manifestFile{f.Path, f.Size, f.Digest, fmt.Sprintf("%04o", f.Mode)}})
}

func (m *manifestWriter) left(l LeftOut) error {
	m.tail.Left++
	return m.to.Encode(manifestLine{Left: &l})
}

func (m *manifestWriter) end() error { return m.to.Encode(manifestLine{End: &m.tail}) }

// maxManifestLine is more than a line can have: a path is at most 4096 bytes, each escaped in 6.
const maxManifestLine = 64 << 10

// readManifest parses a manifest strictly and passes its lines on.
func readManifest(r io.Reader, file func(File) error, left func(LeftOut) error) (run Run, err error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 4096), maxManifestLine)
	line := 0
	next := func(to any) (bool, error) {
		if !lines.Scan() {
			return false, lines.Err()
		}
		line++
		d := json.NewDecoder(bytes.NewReader(lines.Bytes()))
		d.DisallowUnknownFields()
		if err := d.Decode(to); err != nil {
			return false, fmt.Errorf("line %d: %w", line, err)
		}
		if rest, _ := io.ReadAll(d.Buffered()); len(bytes.TrimSpace(rest)) > 0 {
			return false, fmt.Errorf("line %d: something follows the object", line)
		}
		return true, nil
	}
	var head manifestHead
	if ok, err := next(&head); err != nil || !ok {
		return run, fmt.Errorf("the head is missing or damaged: %w", orEOF(err))
	}
	if head.Version != formatVersion {
		return run, fmt.Errorf("version %d is not known to this program, which knows version %d", head.Version, formatVersion)
	}
	var sums manifestTail
	for last := ""; ; {
		var l manifestLine
		if ok, err := next(&l); err != nil || !ok {
			return run, fmt.Errorf("the end is missing: %w", orEOF(err))
		}
		switch {
		case l.File != nil && l.Left == nil && l.End == nil && sums.Left == 0:
			f, err := l.File.parse()
			if err == nil && sums.Files > 0 && f.Path <= last {
				err = fmt.Errorf("the path %q is not after %q", f.Path, last)
			}
			if err != nil {
				return run, fmt.Errorf("line %d: %w", line, err)
			}
			last = f.Path
			sums.Files++
			sums.Bytes += f.Size
			if err := file(f); err != nil {
				return run, err
			}
		case l.Left != nil && l.File == nil && l.End == nil:
			sums.Left++
			if err := left(*l.Left); err != nil {
				return run, err
			}
		case l.End != nil && l.File == nil && l.Left == nil:
			if *l.End != sums {
				return run, fmt.Errorf("line %d: the totals are %+v, but the lines before it add up to %+v", line, *l.End, sums)
			}
			if lines.Scan() {
				return run, fmt.Errorf("line %d: something follows the end", line+1)
			}
			return head.Run, lines.Err()
		default:
			return run, fmt.Errorf("line %d: not a file, an entry that was left out, or the end, in this order", line)
		}
	}
}

func orEOF(err error) error {
	if err == nil {
		return io.ErrUnexpectedEOF
	}
	return err
}

// parse checks the values of a line.
func (m *manifestFile) parse() (File, error) {
	f := File{Path: m.Path, Size: m.Size, Digest: m.Digest}
	mode, err := strconv.ParseUint(m.Mode, 8, 32)
	f.Mode = uint32(mode)
	_, perr := pfs.ParsePath("/" + m.Path)
	switch {
	case perr != nil || m.Path == "":
		return f, fmt.Errorf("%q is not a path", m.Path)
	case m.Size < 0:
		return f, fmt.Errorf("%q: negative size", m.Path)
	case err != nil || mode > 0o777:
		return f, fmt.Errorf("%q: the mode is %q", m.Path, m.Mode)
	case !digest.Known(digest.Algorithm(m.Digest)) || strings.HasSuffix(m.Digest, ":"):
		return f, fmt.Errorf("%q: the digest is %q", m.Path, m.Digest)
	}
	return f, nil
}
