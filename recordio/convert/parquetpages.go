package convert

import (
	"hash/crc32"
	"io"
)

// parquetInput is the file as the library reads it. The library does not check the
// checksums of pages, so they are checked here, while the pages pass.
type parquetInput struct {
	*io.SectionReader
	chunk *pageCheck // of the column that is being read; nil: none
}

// ReadAt implements io.ReaderAt.
func (p *parquetInput) ReadAt(b []byte, off int64) (int, error) {
	n, err := p.SectionReader.ReadAt(b, off)
	if p.chunk != nil {
		if bad := p.chunk.check(b[:n], off); bad != nil {
			return 0, bad
		}
	}
	return n, err
}

// pageCheck compares the pages of one column chunk with their checksums, and their
// headers, which have none, with the footer. The library reads a chunk from its
// beginning to its end.
type pageCheck struct {
	values int64 // of the chunk that are still to come, by the footer
	plain  bool  // pages are not compressed

	start int64      // of the chunk; negative before its first read
	next  int64      // that is to be checked
	head  []byte     // of a page, as far as it was read
	at    int64      // where the page begins
	page  pageHeader // of the page
	left  int64      // bytes of it that are still to come
	sum   uint32
	err   error // sticks
}

// check takes the bytes at off. Only the next ones of the chunk are looked at, up to the
// end of the page with its last value.
func (c *pageCheck) check(b []byte, off int64) error {
	if c.start < 0 {
		c.start, c.next = off, off
	}
	if c.err != nil || off != c.next {
		return c.err
	}
	c.next += int64(len(b))
	for len(b) > 0 && c.err == nil && (c.left > 0 || c.values > 0) {
		if c.left == 0 {
			b = c.begin(b, c.next)
			continue
		}
		n := min(int64(len(b)), c.left)
		if c.page.summed {
			c.sum = crc32.Update(c.sum, crc32.IEEETable, b[:n])
		}
		b, c.left = b[n:], c.left-n
		if c.left == 0 && c.page.summed && c.page.sum != c.sum {
			c.err = faultf(ErrChecksum, "the page at offset %d does not match its checksum", c.at)
		}
	}
	return c.err
}

// begin reads the header of a page from b, which ends at end, and returns what follows
// the header: nothing if it goes on behind b. What is no header is left to the library,
// which meets it next.
func (c *pageCheck) begin(b []byte, end int64) []byte {
	if len(c.head) > 0 {
		c.head = append(c.head, b...)
		b = c.head
	}
	w := thriftReader{rest: b}
	page, err := w.pageHeader()
	if err != nil {
		if len(c.head) == 0 {
			c.head = append(c.head, b...)
		}
		return nil
	}
	c.head = c.head[:0]
	c.page, c.at, c.left, c.sum = page, end-int64(len(b)), max(0, page.size), 0
	if c.values -= page.values; c.values < 0 || page.values < 0 || c.plain && page.size != page.whole {
		c.err = faultf(ErrDamaged, "the header of the page at offset %d does not match the footer", c.at)
	}
	return w.rest
}

// pageHeader is what is looked at of the header of a page.
type pageHeader struct {
	whole, size int64 // bytes, decompressed and as they are stored
	values      int64 // of a page of data
	sum         uint32
	summed      bool // there is a checksum
}

// The fields of a page header that are looked at, by their numbers in parquet.thrift.
const (
	fieldWholeSize  = 2 // of PageHeader: i32
	fieldStoredSize = 3 // of PageHeader: i32
	fieldCRC        = 4 // of PageHeader: i32
	fieldDataPage   = 5 // of PageHeader: DataPageHeader
	fieldDataPageV2 = 8 // of PageHeader: DataPageHeaderV2
	fieldNumValues  = 1 // of both: i32
)

func (w *thriftReader) pageHeader() (p pageHeader, err error) {
	err = w.structure(func(id int64, typ byte) error {
		switch {
		case typ == thriftStruct && (id == fieldDataPage || id == fieldDataPageV2):
			return w.structure(func(id int64, typ byte) (err error) {
				if typ != thriftI32 || id != fieldNumValues {
					return w.value(typ)
				}
				p.values, err = w.integer()
				return err
			})
		case typ != thriftI32:
			return w.value(typ)
		}
		n, err := w.integer()
		switch id {
		case fieldWholeSize:
			p.whole = n
		case fieldStoredSize:
			p.size = n
		case fieldCRC:
			p.sum, p.summed = uint32(n), true
		}
		return err
	})
	return p, err
}
