package recordio

import (
	"hash/crc32"
	"slices"
	"sync"
)

// opened is a decoded chunk. It does not change once it is ready.
type opened struct {
	chunk int
	ready chan struct{}
	raw   []byte
	part  *part
	err   error
}

// cache keeps the most recently used chunks.
type cache struct {
	most int
	mu   sync.Mutex
	kept []*opened // most recently used last
}

// get returns chunk c, and whether the caller must fill it and close ready.
func (k *cache) get(c int) (o *opened, fill bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	i := slices.IndexFunc(k.kept, func(o *opened) bool { return o.chunk == c })
	if i >= 0 {
		o = k.kept[i]
		k.kept = append(slices.Delete(k.kept, i, i+1), o)
		return o, false
	}
	if len(k.kept) >= k.most {
		k.kept = slices.Delete(k.kept, 0, 1)
	}
	o = &opened{chunk: c, ready: make(chan struct{})}
	k.kept = append(k.kept, o)
	return o, true
}

// drop forgets o.
func (k *cache) drop(o *opened) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if i := slices.Index(k.kept, o); i >= 0 {
		k.kept = slices.Delete(k.kept, i, i+1)
	}
}

// open returns chunk c decoded. Several callers share one decoding.
func (f *File) open(c int) (*opened, error) {
	o, fill := f.cache.get(c)
	if !fill {
		<-o.ready
		return o, o.err
	}
	defer close(o.ready)
	if o.err = f.fill(o); o.err != nil {
		f.cache.drop(o)
	}
	return o, o.err
}

// fill reads, verifies and decodes a chunk.
func (f *File) fill(o *opened) error {
	if err := f.check(o.chunk); err != nil {
		return err
	}
	info := f.x.chunks[o.chunk]
	stored := make([]byte, info.Size)
	if err := readFullAt(f.r, stored, info.Offset); err != nil {
		return err
	}
	ch := chunk{stored: stored, head: header{crc: info.CRC, comp: info.Compressor, size: uint32(info.Size - headerSize), n: uint32(info.Records)}}
	if got := crc32.Checksum(ch.payload(), f.x.dialect.table()); got != info.CRC {
		return f.wrong(o.chunk, Checksum, "the payload has %08x, the header says %08x", got, info.CRC)
	}
	cd := chunkDecoder{decoder: decoder{limit: f.opts.MaxChunkBytes}, dialect: f.x.dialect}
	defer cd.close()
	if flt := cd.records(&ch, info.Compressor, ch.payload()); flt != nil {
		return f.at(o.chunk, flt)
	}
	if int64(len(ch.walk.ends)) != info.Records {
		return f.wrong(o.chunk, Malformed, "the header says %d records, the payload has %d", info.Records, len(ch.walk.ends))
	}
	o.raw, o.part = ch.raw, &part{ends: ch.walk.ends}
	return f.learn(&cd, o, ch.payload())
}

// learn stores the positions of records and blocks.
func (f *File) learn(cd *chunkDecoder, o *opened, payload []byte) error {
	if f.known[o.chunk].Load() != nil {
		return nil
	}
	blocks, flt := cd.blocks(f.x.dialect, f.x.chunks[o.chunk].Compressor, payload, len(o.raw))
	if flt != nil {
		return f.at(o.chunk, flt)
	}
	o.part.blocks = blocks
	f.known[o.chunk].Store(o.part)
	return nil
}
