package convert

import (
	"hash/crc32"
	"io"

	"github.com/apache/thrift/lib/go/thrift"
)

// parquetInput is the file as the library reads it. It verifies the checksums of pages as they are
// read, because the library does not.
type parquetInput struct {
	*io.SectionReader
	chunk *pageCheck // the column being read; nil if none
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

// pageCheck verifies the checksums of the pages of one column chunk, and compares their headers,
// which have none, with the footer. The library reads a chunk from its beginning to its end.
type pageCheck struct {
	values int64 // values of the chunk still expected, according to the footer
	plain  bool  // pages are not compressed
	empty  int   // pages without values, dictionaries too, that the library may yet reach

	start int64      // of the chunk; negative before its first read
	next  int64      // offset of the next byte to check
	head  []byte     // header of a page, as read so far
	at    int64      // offset of the page
	page  pageHeader // of the page
	left  int64      // bytes of the page still expected
	sum   uint32
	err   error // sticky
}

// check processes the bytes at off. It considers only the next ones of the chunk, up to the end of
// the page with its last value.
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

// begin reads the header of a page from b, which ends at end, and returns what follows the header,
// or nothing if the header continues after b. Invalid headers are left to the library, which reads
// them next.
func (c *pageCheck) begin(b []byte, end int64) []byte {
	if len(c.head) > 0 {
		c.head = append(c.head, b...)
		b = c.head
	}
	w := newThriftReader(b)
	page, err := w.pageHeader()
	if err != nil {
		if len(c.head) == 0 {
			c.head = append(c.head, b...)
		}
		return nil
	}
	c.head = c.head[:0]
	c.page, c.at, c.left, c.sum = page, end-int64(len(b)), max(0, page.size), 0
	if page.values == 0 {
		c.empty++
	}
	if c.values -= page.values; c.values < 0 || page.values < 0 || c.plain && page.size != page.whole {
		c.err = faultf(ErrDamaged, "the header of the page at offset %d does not match the footer", c.at)
	}
	return w.rest.Bytes()
}

// pageHeader holds the header fields used here.
type pageHeader struct {
	whole, size int64 // size in bytes, decompressed and stored
	values      int64 // of a data page
	sum         uint32
	summed      bool // has a checksum
}

// The page header fields used here, by their numbers in parquet.thrift.
const (
	fieldWholeSize  = 2 // of PageHeader: i32
	fieldStoredSize = 3 // of PageHeader: i32
	fieldCRC        = 4 // of PageHeader: i32
	fieldDataPage   = 5 // of PageHeader: DataPageHeader
	fieldDataPageV2 = 8 // of PageHeader: DataPageHeaderV2
	fieldNumValues  = 1 // of both: i32
)

func (w thriftReader) pageHeader() (p pageHeader, err error) {
	err = w.structure(func(id int16, typ thrift.TType) error {
		switch {
		case typ == thrift.STRUCT && (id == fieldDataPage || id == fieldDataPageV2):
			return w.structure(func(id int16, typ thrift.TType) error {
				if typ != thrift.I32 || id != fieldNumValues {
					return w.skip(typ)
				}
				return w.integer(&p.values)
			})
		case typ == thrift.I32 && id == fieldWholeSize:
			return w.integer(&p.whole)
		case typ == thrift.I32 && id == fieldStoredSize:
			return w.integer(&p.size)
		case typ == thrift.I32 && id == fieldCRC:
			sum, err := w.ReadI32(noContext)
			p.sum, p.summed = uint32(sum), true
			return err
		}
		return w.skip(typ)
	})
	return p, err
}
