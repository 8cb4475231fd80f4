package wire

// MaxListed bounds the EncodedBound of what a message lists: what the message and its
// frame add has room in MaxMessage.
const MaxListed = MaxMessage - 128

// The bounds below tell how long a message can be before it is encoded, so that pages and
// batches end before they are longer than MaxMessage.
const (
	// entryOverhead bounds the bytes of an encoded entry beside its strings.
	entryOverhead = 320

	// stringOverhead bounds the bytes before an encoded string.
	stringOverhead = 5

	// listOverhead bounds the bytes of a ListReply beside its entries and strings.
	listOverhead = 64
)

// EncodedBound is at least the length of i when it is encoded.
func (i Info) EncodedBound() int {
	return entryOverhead + len(i.Name) + len(i.Owner) + len(i.Group) + len(i.Target) + len(i.Version) + len(i.Digest)
}

// EncodedBound is at least the length of e when it is encoded.
func (e BatchEntry) EncodedBound() int { return entryOverhead + len(e.Path) + len(e.Digest) }

// EncodedBound is at least the length of f when it is encoded.
func (f ReadFile) EncodedBound() int { return entryOverhead + len(f.Path) }

// EncodedBound is at least the length of f when it is encoded.
func (f CopyFile) EncodedBound() int { return entryOverhead + len(f.Source) + len(f.Target) }

// EncodedBound is at least the length of r when it is encoded.
func (r ListReply) EncodedBound() int {
	n := listOverhead + len(r.Next)
	for _, e := range r.Entries {
		n += e.EncodedBound()
	}
	for _, name := range r.Unnamed {
		n += stringOverhead + len(name)
	}
	return n
}
