package convert

import "encoding/binary"

// gifReader walks over the blocks of a GIF.
type gifReader struct{ rest []byte }

func gifTruncated() error { return faultf(ErrTruncated, "gif: ends without a trailer") }

// skip skips n bytes.
func (g *gifReader) skip(n int) error {
	if n > len(g.rest) {
		return gifTruncated()
	}
	g.rest = g.rest[n:]
	return nil
}

// subBlocks skips sub-blocks up to the empty one that ends them.
func (g *gifReader) subBlocks() error {
	for {
		if len(g.rest) == 0 {
			return gifTruncated()
		}
		n := int(g.rest[0])
		if err := g.skip(1 + n); err != nil || n == 0 {
			return err
		}
	}
}

// colorTable skips a colour table, if flags announce one.
func (g *gifReader) colorTable(flags byte) error {
	if flags&0x80 == 0 {
		return nil
	}
	return g.skip(3 << (1 + flags&7))
}

// image skips the data of an image after its separator.
func (g *gifReader) image() error {
	if len(g.rest) < 9 {
		return gifTruncated()
	}
	flags := g.rest[8]
	if err := g.skip(9); err != nil {
		return err
	}
	if err := g.colorTable(flags); err != nil {
		return err
	}
	if err := g.skip(1); err != nil { // LZW code size
		return err
	}
	return g.subBlocks()
}

// checkGIF follows the blocks of a GIF to its trailer.
func checkGIF(data []byte) (imageSize, error) {
	if len(data) < 13 {
		return imageSize{}, gifTruncated()
	}
	size := imageSize{int64(binary.LittleEndian.Uint16(data[6:])), int64(binary.LittleEndian.Uint16(data[8:]))}
	g := gifReader{data[13:]}
	if err := g.colorTable(data[10]); err != nil {
		return imageSize{}, err
	}
	for images := 0; ; {
		if len(g.rest) == 0 {
			return imageSize{}, gifTruncated()
		}
		block := g.rest[0]
		g.rest = g.rest[1:]
		var err error
		switch block {
		case ',':
			images++
			err = g.image()
		case '!':
			if err = g.skip(1); err == nil {
				err = g.subBlocks()
			}
		case ';':
			if images == 0 {
				err = faultf(ErrSyntax, "gif: no image")
			}
			return size, err
		default:
			err = faultf(ErrSyntax, "gif: unknown block %#02x", block)
		}
		if err != nil {
			return imageSize{}, err
		}
	}
}
