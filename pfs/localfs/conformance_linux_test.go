package localfs

// systemWays are the ways that only this system has.
var systemWays = []way{
	{name: "not durable", opts: Options{NoSync: true}, open: openTop, names: 20_000},
	{name: "without openat2", opts: Options{NoSync: true}, open: openByElements, names: 2000},
}

// openByElements opens a tree as on systems without openat2.
func openByElements(path string, follow bool) (dir, error) {
	d, err := openTop(path, follow)
	if err == nil {
		d.(*fdDir).elements = true
	}
	return d, err
}
