package web

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/paddlecloud/pfs/internal/fair"
	"github.com/paddlecloud/pfs/internal/gateway"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/dataset/manifest"
)

// Bounds of a preview. A file is untrusted, so the bytes that are read, decoded and shown are bounded, whatever it claims.
const (
	previewTime  = 5 * time.Second
	previewWait  = 2 * time.Second
	previewBytes = 96 << 20 // that are read of the file
	previewText  = 64 << 10 // that are shown as text
	previewJSON  = 256 << 10
	previewLines = 100 // rows of a table
	previewCell  = 200 // characters of a cell of a table
	previewHex   = 512
	maxPreviews  = 2 // at a time, of different users: they use processors without turns
)

// preview is the data of the template "preview".
type preview struct {
	Heading  string // what the file is
	Note     string // what is not shown
	Problem  string // damage, with its place
	Facts    []fact
	Image    string // address
	Columns  []string
	Rows     [][]cell
	Text     string
	Records  *recordsPage
	Problems []string // more damage
}

// fact is a name with its value.
type fact struct{ Name, Value string }

// cell is a cell of a table, and where it leads to.
type cell struct {
	Text string
	Path pfs.Path
}

// previews are the places of previews.
type previews struct{ queue *fair.Queue }

func newPreviews() previews { return previews{fair.New(maxPreviews)} }

// preview reads what a page shows of the file name. A preview that fails says so in the page.
func (x *Web) preview(v *visit, name pfs.Path, info pfs.Info) *preview {
	if info.Size == 0 {
		return &preview{Note: "The file is empty."}
	}
	ctx, cancel := context.WithTimeout(v.Context(), previewWait)
	defer cancel()
	end, err := x.previews.queue.Take(ctx, fair.Claim{Key: v.session.User().Name, Share: 1})
	if err != nil {
		return &preview{Note: "No preview: others are being made. Reload the page for another try."}
	}
	defer end()
	r, err := v.reading(name)
	if err != nil {
		return &preview{Problem: textOf(err)}
	}
	defer r.close()
	var p *preview
	err = pfs.Guard("web.preview", name, func() (err error) {
		p, err = r.show(v)
		return err
	})
	if err != nil {
		p = &preview{Problem: previewProblem(err)}
	}
	return p
}

// previewProblem returns the text for an error of reading a file.
func previewProblem(err error) string {
	switch {
	case errors.Is(err, errTooMuch):
		return fmt.Sprintf("No preview: it would read more than %s of the file.", size(previewBytes))
	case errors.Is(err, pfs.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("No preview: it would take longer than %v.", previewTime)
	}
	return textOf(err)
}

var errTooMuch = errors.New("more than a preview may read")

// reading reads a file for a preview, with bounds of time and bytes.
type reading struct {
	ctx    context.Context
	cancel context.CancelFunc
	v      *visit
	name   pfs.Path
	f      pfs.File
	info   pfs.Info
	left   atomic.Int64
}

// reading opens the file name.
func (v *visit) reading(name pfs.Path) (*reading, error) {
	f, err := v.open(name)
	if err != nil {
		return nil, err
	}
	r := &reading{v: v, name: name, f: f, info: f.Info()}
	r.ctx, r.cancel = context.WithTimeout(v.Context(), previewTime)
	r.left.Store(previewBytes)
	return r, nil
}

// again allows another attempt that reads less.
func (r *reading) again() {
	r.cancel()
	r.ctx, r.cancel = context.WithTimeout(r.v.Context(), previewTime)
	r.left.Store(previewBytes)
}

func (r *reading) close() {
	r.cancel()
	_ = r.f.Close()
}

// ReadAt reads in the turns of the user.
func (r *reading) ReadAt(p []byte, off int64) (int, error) {
	if r.left.Add(-int64(len(p))) < 0 {
		return 0, errTooMuch
	}
	return gateway.ReadAt(r.ctx, r.v.session, r.f, p, off)
}

// head returns the first n bytes, or all of a shorter file.
func (r *reading) head(n int64) ([]byte, error) {
	p := make([]byte, min(n, r.info.Size))
	k, err := r.ReadAt(p, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return p[:k], nil
}

// show makes the preview, by what the file begins with and by its name.
func (r *reading) show(v *visit) (*preview, error) {
	if set, ok := manifest.DatasetOf(r.name.Base()); ok && set != "" {
		return r.manifest()
	}
	p, err := r.head(previewText)
	if err != nil {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(p, recordMagic):
		return r.records(v)
	case imageType(p) != "":
		return r.image(p)
	}
	switch strings.ToLower(path.Ext(r.name.Base())) {
	case ".csv":
		return r.table(p, ',')
	case ".tsv":
		return r.table(p, '\t')
	case ".json":
		return r.json()
	}
	return r.text(p), nil
}

// text shows the beginning of a file of text, or of any other as numbers.
func (r *reading) text(p []byte) *preview {
	whole := int64(len(p)) == r.info.Size
	if !whole {
		p = wholeRunes(p)
	}
	shown := &preview{Heading: "Text"}
	if at := notText(p); at >= 0 {
		if at < len(p)/2 || at < previewHex {
			p = p[:min(len(p), previewHex)]
			return &preview{Heading: "Not text", Note: fmt.Sprintf("The first %d of %s bytes.", len(p), grouped(r.info.Size)), Text: hex.Dump(p)}
		}
		shown.Problem = fmt.Sprintf("Line %d (byte %d): this is not text in UTF-8.", bytes.Count(p[:at], []byte("\n"))+1, at)
		p = p[:at]
	}
	shown.Text = visible(p)
	if !whole {
		shown.Note = r.first(len(p))
	}
	return shown
}

// first says that only n bytes are shown.
func (r *reading) first(n int) string {
	return fmt.Sprintf("The first %s of %s.", size(int64(n)), size(r.info.Size))
}

// wholeRunes returns p without the beginning of a character at its end.
func wholeRunes(p []byte) []byte {
	for n := 1; n < utf8.UTFMax && n <= len(p); n++ {
		if b := p[len(p)-n]; utf8.RuneStart(b) {
			if !utf8.FullRune(p[len(p)-n:]) {
				return p[:len(p)-n]
			}
			break
		}
	}
	return p
}

// notText returns the offset of the first byte that text does not have, -1 if there is none.
func notText(p []byte) int {
	for at := 0; at < len(p); {
		c, n := utf8.DecodeRune(p[at:])
		if c == utf8.RuneError && n <= 1 || c < ' ' && !strings.ContainsRune("\t\n\r\f\x1b", c) {
			return at
		}
		at += n
	}
	return -1
}

// visible returns text in which characters that a browser would not show are spelled out.
func visible(p []byte) string {
	var b strings.Builder
	b.Grow(len(p))
	for _, c := range string(p) {
		switch {
		case c == '\n', c == '\t':
			b.WriteRune(c)
		case c == '\r':
		case hidden(c):
			b.WriteString(shown(string(c)))
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}

// short returns at most n characters of s.
func short(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return string(wholeRunes([]byte(s[:n]))) + "…"
}
