package recordio

import "hash/crc32"

// sumPiece is how many bytes are hashed at a time: few enough to be in the processor's cache still.
const sumPiece = 256 << 10

// packer converts the data of a chunk into its payload as it arrives, in groups of whole blocks.
type packer struct {
	comp  Compressor
	group int // bytes of data packed at a time, 0 for compressor None
	chunk int // maximum record bytes of a chunk
	crc   uint32

	arena  []byte // of the last chunk, for reuse
	out    []byte // space for a header, then the payload so far
	summed int    // bytes of out that crc covers, including the space for the header
	blocks []block

	serial *encoder
	jobs   *workers // nil: serial packs
}

// init prepares the packer for opts.
func (p *packer) init(opts WriterOptions) error {
	p.comp, p.chunk = opts.Compressor, opts.ChunkBytes
	if p.comp == None {
		return nil
	}
	p.group = max(p.comp.blockRaw(), sumPiece)
	if opts.Parallelism > 1 {
		p.group = max(p.group, workPiece)
		jobs, err := newWorkers(p.comp, opts.Parallelism)
		p.jobs = jobs
		return err
	}
	serial, err := newEncoder(p.comp)
	p.serial = serial
	return err
}

// begin starts a chunk and returns the slice to append data to.
func (p *packer) begin() []byte {
	p.crc, p.summed, p.blocks = 0, headerSize, p.blocks[:0]
	if p.out == nil {
		p.out = make([]byte, headerSize, sumPiece)
	}
	p.out = p.out[:headerSize]
	if p.comp == None {
		return p.out
	}
	if p.comp == Snappy {
		p.out = append(p.out, streamID...)
	}
	return p.arena[:0]
}

// add consumes whole groups at the start of arena and returns the slice to continue with.
func (p *packer) add(arena []byte) ([]byte, error) {
	if p.comp == None {
		if len(arena)-p.summed >= sumPiece {
			p.sum(arena)
			if cap(arena)-len(arena) < sumPiece {
				arena = p.grow(arena)
			}
		}
		return arena, nil
	}
	if len(arena) < p.group {
		return arena, nil
	}
	return p.take(arena, len(arena)/p.group*p.group)
}

// grow returns arena with more capacity: double, until the chunk is clearly a long one, then enough
// for a whole chunk of records that are not tiny. Untouched capacity costs nothing, and copies are
// rare.
func (p *packer) grow(arena []byte) []byte {
	room := 2 * len(arena)
	if room > p.chunk/8 {
		room = max(room, p.chunk+p.chunk/8+2*sumPiece)
	}
	return enlarge(arena, room)
}

// take packs the first n bytes of arena.
func (p *packer) take(arena []byte, n int) ([]byte, error) {
	if p.jobs != nil {
		return p.jobs.submit(p, arena, n)
	}
	out, err := p.serial.pack(p.out, arena[:n])
	p.append(out, p.serial)
	return arena[:copy(arena, arena[n:])], err
}

// append adopts out, which extends p.out, and the members of e.
func (p *packer) append(out []byte, e *encoder) {
	p.out = out
	p.blocks = append(p.blocks, e.members...)
	e.members = e.members[:0]
	p.sum(out)
}

// sum extends the checksum to the end of out.
func (p *packer) sum(out []byte) {
	p.crc = crc32.Update(p.crc, crc32.IEEETable, out[p.summed:])
	p.summed = len(out)
}

// finish consumes the rest of the chunk's data and returns the payload with space for the header
// before it.
func (p *packer) finish(arena []byte) ([]byte, error) {
	if p.comp == None {
		p.out = arena
		p.sum(arena)
		return arena, nil
	}
	if len(arena) > 0 {
		var err error
		if arena, err = p.take(arena, len(arena)); err != nil {
			return nil, err
		}
	}
	p.arena = arena
	if p.jobs != nil {
		if err := p.jobs.drain(p); err != nil {
			return nil, err
		}
	}
	return p.out, nil
}

// listBlocks returns the blocks of the payload that finish returned.
func (p *packer) listBlocks(payload []byte) []block {
	if p.comp == Gzip {
		return append([]block(nil), p.blocks...)
	}
	var d decoder
	bs, _ := d.blocks(Go, p.comp, payload, 0) // cannot fail: the payload is our own
	return bs
}

// close stops the goroutines and releases the memory, including arena, which may hold the payload.
func (p *packer) close(arena []byte) {
	if p.jobs != nil {
		p.jobs.close()
	}
	giveBuf(arena)
	if p.comp != None {
		giveBuf(p.out)
	}
	p.arena, p.out = nil, nil
}
