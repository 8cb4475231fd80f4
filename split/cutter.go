package split

// cutter applies a rule to records one after the other.
type cutter struct {
	rule Rule
	seen int64 // number of records
	last int   // the file of the last record, for rules of consecutive records
	held int64 // bytes in that file, for Bytes
}

// place returns the file of the next record, which has size bytes. For rules of consecutive records
// it is the last file or the next one.
func (c *cutter) place(size int64) int {
	defer func() { c.seen++ }()
	switch {
	case c.rule.kind == roundRobin:
		return int(c.seen % c.rule.n)
	case c.rule.kind == bytes:
		return c.placeBytes(size)
	case c.seen == c.rule.end(c.last):
		c.last++
	}
	return c.last
}

// placeBytes compares size with the remaining space, because a sum of sizes could overflow.
func (c *cutter) placeBytes(size int64) int {
	if c.seen > 0 && size > c.rule.n-c.held {
		c.last, c.held = c.last+1, 0
	}
	c.held += size
	return c.last
}
