package convert

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"iter"
)

// produce makes the tasks of all sources, until one fails or ctx ends.
func (r *run) produce(ctx context.Context, sources iter.Seq2[Source, error]) {
	for s, err := range sources {
		t := &task{source: s, err: err}
		if err == nil && s.From == 0 {
			r.inputs++
		}
		if err == nil && (r.format == nil || r.guessed && r.format.lines != nil) {
			t.open, t.err = r.find(ctx, s)
			if t.err == nil && t.open == nil {
				continue
			}
		}
		switch {
		case t.err != nil:
			r.put(ctx, t)
			return
		case r.format.lines == nil && r.opts.SkipLines > 0:
			t.err = faultf(ErrUnsupported, "%s has no lines to skip", r.format.Name)
			r.put(ctx, t)
			return
		case r.opts.AllowNaN && r.format.Name != jsonlFormat.Name:
			t.err = faultf(ErrUnsupported, "NaN and Infinity are accepted in jsonl, not in %s", r.format.Name)
			r.put(ctx, t)
			return
		case r.format.lines == nil:
			r.start, r.end = s.From, s.To
			if !r.put(ctx, t) {
				return
			}
		case !r.cut(ctx, t):
			return
		}
	}
	if r.format == nil {
		r.format = &textFormat // nothing was read
	}
}

// find opens a source and detects the format, or compares it with the one detected before. It
// returns nil for an empty input whose name implies no format.
func (r *run) find(ctx context.Context, s Source) (*opened, error) {
	o, err := r.openText(ctx, s)
	if err != nil {
		return nil, err
	}
	if o.saysNothing() {
		return nil, o.close()
	}
	if r.format == nil {
		if r.format, err = Sniff(o.head, o.Name); err == nil {
			r.guessed, r.first = true, s.title()
			err = r.checkCharset()
		}
	} else {
		err = r.agrees(o)
	}
	if err != nil {
		o.close() // its error would only follow from err
		return nil, err
	}
	return o, nil
}

// saysNothing reports whether o is empty and its name implies no format.
func (o *opened) saysNothing() bool { return len(o.head) == 0 && formatOfEnding(o.Name) == nil }

// agrees returns an error unless o has the format of the first input.
func (r *run) agrees(o *opened) error {
	f, err := Sniff(o.head, o.Name)
	if err == nil && f.Name != r.format.Name {
		err = faultf(ErrFormat, "it is %s, and %s is %s: all inputs are of one format", f.Name, r.first, r.format.Name)
	}
	return err
}

// openText opens s, which is text if a charset is given.
func (r *run) openText(ctx context.Context, s Source) (*opened, error) {
	o, err := open(ctx, s)
	if err == nil && r.charset != nil {
		if err = o.recode(r.charset); err != nil {
			o.close()
			return nil, err
		}
	}
	return o, err
}

// checkCharset refuses a charset for a format that is not text.
func (r *run) checkCharset() error {
	if r.opts.Charset != "" && r.format.lines == nil {
		return faultf(ErrUnsupported, "%s is not text: it has no encoding such as %s", r.format.Name, r.opts.Charset)
	}
	return nil
}

// put passes t to a worker and to delivery; false if ctx ended first.
func (r *run) put(ctx context.Context, t *task) bool {
	t.out = make(chan *batch, 1)
	select {
	case <-ctx.Done():
		t.closeInput()
		return false
	case r.queue <- t:
	}
	if t.err != nil {
		return true
	}
	select {
	case <-ctx.Done():
		t.closeInput()
		return false
	case r.work <- t:
		return true
	}
}

func (t *task) closeInput() error {
	if t.open == nil {
		return nil
	}
	return t.open.close()
}

// cut makes a task of each block of an input of lines; it returns false when production must stop.
func (r *run) cut(ctx context.Context, t *task) bool {
	s, o := t.source, t.open
	if r.lines == nil {
		r.lines = r.format.lines(r.opts)
	}
	var err error
	if o == nil {
		o, err = r.openText(ctx, s)
	}
	if err == nil {
		err = r.cutBlocks(ctx, s, o)
		if cerr := o.close(); err == nil {
			err = cerr
		}
	}
	if err != nil {
		r.put(ctx, &task{source: s, lines: true, err: err})
	}
	return err == nil
}

func (r *run) cutBlocks(ctx context.Context, s Source, o *opened) error {
	at, lines, err := r.seek(s, o)
	if err != nil {
		return err
	}
	r.start, r.end = at, at
	b := &blockReader{r: o.Reader, format: r.lines, limit: r.opts.Limits.Record, size: blockSize, begun: s.From > 0}
	for first := true; s.To == 0 || r.end < s.To; first = false {
		block, err := b.next(r.takeBlock())
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		t := &task{source: s, lines: true, first: first, block: block}
		if first && s.From == 0 {
			if err := r.begin(t); err != nil {
				return err
			}
			r.end += t.headBytes
		}
		if first {
			t.headBytes, t.headLines = t.headBytes+at, t.headLines+lines
		}
		if s.To > 0 {
			t.block = t.block[:r.upTo(t.block, s.To-r.end)]
		}
		r.end += int64(len(t.block))
		t.parser = r.parser()
		if !r.put(ctx, t) {
			return ctx.Err()
		}
	}
	return nil
}

// seek moves o to the first record of s, or to the header. It returns the position, and the number of
// lines before it that it has skipped.
func (r *run) seek(s Source, o *opened) (at, lines int64, err error) {
	if s.From == 0 {
		at, err = r.skipLines(o)
		return at, r.opts.SkipLines, err
	}
	if o.ReaderAt == nil || s.From > o.Size {
		return 0, 0, faultf(ErrUnsupported, "it cannot be read from byte %d", s.From)
	}
	at = s.From
	if !s.Exact {
		at-- // the newline may be right before From
	}
	section := io.NewSectionReader(o.ReaderAt, at, o.Size-at)
	o.Reader = section
	if s.Exact {
		return at, 0, nil
	}
	for buf := make([]byte, 64<<10); ; {
		n, err := section.ReadAt(buf, at-(s.From-1))
		if i := bytes.IndexByte(buf[:n], '\n'); i >= 0 {
			at += int64(i) + 1
			break
		}
		at += int64(n)
		if err == io.EOF {
			break
		}
		if err != nil {
			return 0, 0, err
		}
	}
	o.Reader = io.NewSectionReader(o.ReaderAt, at, o.Size-at)
	return at, 0, nil
}

// upTo returns the length of the records of block that begin before byte n.
func (r *run) upTo(block []byte, n int64) int {
	if int64(len(block)) <= n {
		return len(block)
	}
	i := 0
	for int64(i) < n && i < len(block) {
		length, _ := r.lines.next(block[i:])
		i += length
	}
	return i
}

// skipLines skips the lines before the content of an input, and returns their size.
func (r *run) skipLines(o *opened) (left int64, err error) {
	if r.opts.SkipLines == 0 {
		return 0, nil
	}
	b := bufio.NewReader(o.Reader)
	o.Reader = b
	for n, long := int64(0), 0; n < r.opts.SkipLines; {
		part, err := b.ReadSlice('\n')
		left, long = left+int64(len(part)), long+len(part)
		switch {
		case err == io.EOF:
			return left, nil
		case err != nil && err != bufio.ErrBufferFull:
			return left, err
		case long > r.opts.Limits.Record:
			return left, faultf(ErrLimit, "no end of line %d, which is to be skipped, within the limit of %d bytes", n+1, r.opts.Limits.Record)
		case err == nil:
			n, long = n+1, 0
		}
	}
	return left, nil
}

// begin skips what precedes the records of an input: a byte order mark and a header.
func (r *run) begin(t *task) error {
	if r.opts.Charset == "" {
		if err := refuseUTF16(t.block); err != nil {
			return err
		}
	}
	whole := t.block
	t.block = bytes.TrimPrefix(t.block, []byte("\ufeff"))
	skip, err := r.lines.begin(t.block)
	if err != nil {
		return err
	}
	t.block = t.block[skip:]
	head := whole[:len(whole)-len(t.block)]
	t.headBytes, t.headLines = int64(len(head)), int64(bytes.Count(head, newline))
	return nil
}

// refuseUTF16 returns an error for UTF-16 text if that charset was not named.
func refuseUTF16(p []byte) error {
	if bytes.HasPrefix(p, []byte{0xff, 0xfe}) || bytes.HasPrefix(p, []byte{0xfe, 0xff}) {
		return faultf(ErrCharset, "the text is UTF-16, not UTF-8: name its encoding, such as utf-16")
	}
	if name := unmarkedUTF16(p); name != "" {
		return faultf(ErrCharset, "the text has a NUL in every second byte, as UTF-16 has: name its encoding, such as %s", name)
	}
	return nil
}

// unmarkedUTF16 returns the UTF-16 variant in which p begins, without a byte order mark and with
// ASCII characters, or "".
func unmarkedUTF16(p []byte) string {
	const enough = 8
	if len(p) < enough {
		return ""
	}
	nul, other := 0, 1 // positions with NULs, and positions without
	if p[0] != 0 {
		nul, other = 1, 0
	}
	for i := 0; i < enough; i += 2 {
		if p[i+nul] != 0 || p[i+other] == 0 {
			return ""
		}
	}
	return [...]string{"utf-16be", "utf-16le"}[nul]
}

// parser returns the parser for a block of the current input.
func (r *run) parser() lineParser {
	if r.encoding.Name == rawName {
		return &rawLines{format: r.lines, checked: newChecked(r.opts)}
	}
	return r.lines.parser()
}

// takeBlock returns the memory of a finished block, or nil.
func (r *run) takeBlock() []byte {
	select {
	case b := <-r.blocks:
		return b
	default:
		return nil
	}
}

// putBlock keeps the memory of a block for reuse.
func (r *run) putBlock(b []byte) {
	select {
	case r.blocks <- b:
	default:
	}
}
