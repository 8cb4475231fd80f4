package memfs

import (
	"io"
	"maps"
	"slices"
)

// pageSize is the largest length of a page of content, in bytes.
const pageSize = 64 << 10

// content is bytes in pages, by page number. A page may be short or missing; missing bytes read as
// zeros, so that a gap costs nothing.
type content struct {
	pages map[int64][]byte
	size  int64
}

// contentOf returns a content that holds a copy of p.
func contentOf(p []byte) content {
	var c content
	c.writeAt(p, 0)
	return c
}

// readAt reads as io.ReaderAt does. off is not negative.
func (c content) readAt(p []byte, off int64) (n int, err error) {
	if off >= c.size {
		return 0, io.EOF
	}
	if int64(len(p)) > c.size-off {
		p, err = p[:c.size-off], io.EOF
	}
	for n < len(p) {
		i, start := pageAt(off + int64(n))
		part := p[n:min(len(p), n+pageSize-start)]
		k := 0
		if page := c.pages[i]; start < len(page) {
			k = copy(part, page[start:])
		}
		clear(part[k:])
		n += len(part)
	}
	return n, err
}

// writeAt writes p in place: only for content without other readers.
func (c *content) writeAt(p []byte, off int64) {
	c.size = max(c.size, off+int64(len(p)))
	if c.pages == nil && len(p) > 0 {
		c.pages = map[int64][]byte{}
	}
	for len(p) > 0 {
		i, start := pageAt(off)
		k := min(len(p), pageSize-start)
		page := c.pages[i]
		if gap := start + k - len(page); gap > 0 {
			page = append(page, make([]byte, gap)...)
		}
		copy(page[start:], p[:k])
		c.pages[i] = page
		p, off = p[k:], off+int64(k)
	}
}

// resized returns a content of size bytes that shares its pages with c. The last page loses its
// spare capacity too, so that growing again copies it.
func (c content) resized(size int64) content {
	if size < c.size {
		last, end := pageAt(size)
		c.pages = maps.Clone(c.pages)
		maps.DeleteFunc(c.pages, func(i int64, _ []byte) bool { return i > last })
		if page := c.pages[last]; end < len(page) {
			c.pages[last] = page[:end:end]
		}
	}
	c.size = size
	return c
}

// edited returns a content that shares its pages with c, except those with any of the n bytes
// from off on, which it copies so that they can be written.
func (c content) edited(off int64, n int) content {
	if c.pages = maps.Clone(c.pages); c.pages == nil {
		c.pages = map[int64][]byte{}
	}
	first, _ := pageAt(off)
	last, _ := pageAt(off + int64(n) - 1)
	for i := first; i <= last; i++ {
		if page, ok := c.pages[i]; ok {
			c.pages[i] = slices.Clone(page)
		}
	}
	return c
}

// joined returns the bytes of c followed by those of d. It shares the whole pages of c.
func (c content) joined(d content) content {
	end := c.size
	c = c.edited(end, 0) // the last page
	for i, page := range d.pages {
		c.writeAt(page, end+i*pageSize)
	}
	c.size = end + d.size
	return c
}

// pageAt returns the page that holds the byte off, and its position there.
func pageAt(off int64) (page int64, start int) {
	return off / pageSize, int(off % pageSize)
}
