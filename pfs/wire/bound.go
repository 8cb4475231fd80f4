package wire

// MaxListed bounds the EncodedBound of the items in a message: MaxMessage less the rest of the
// message and its frame.
const MaxListed = MaxMessage - 128

// The bounds below estimate the length of a message before it is encoded, so that pages and batches
// stay within MaxMessage.
const (
	// entryOverhead bounds the bytes of an encoded entry without its strings.
	entryOverhead = 320

	// stringOverhead bounds the bytes before an encoded string.
	stringOverhead = 5

	// listOverhead bounds the bytes of a ListReply without its entries and strings.
	listOverhead = 64
)

// EncodedBound is an upper bound of the encoded length of i.
func (i Info) EncodedBound() int {
	return entryOverhead + len(i.Name) + len(i.Owner) + len(i.Group) + len(i.Target) + len(i.Version) + len(i.Digest)
}

// EncodedBound is an upper bound of the encoded length of e.
func (e BatchEntry) EncodedBound() int { return entryOverhead + len(e.Path) + len(e.Digest) }

// EncodedBound is an upper bound of the encoded length of f.
func (f ReadFile) EncodedBound() int { return entryOverhead + len(f.Path) }

// EncodedBound is an upper bound of the encoded length of r.
func (r ReadRange) EncodedBound() int { return entryOverhead + len(r.Path) + len(r.Version) }

// EncodedBound is an upper bound of the encoded length of f.
func (f CopyFile) EncodedBound() int { return entryOverhead + len(f.Source) + len(f.Target) }

// EncodedBound is an upper bound of the encoded length of r.
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
