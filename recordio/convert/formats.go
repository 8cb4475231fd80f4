package convert

// Format is one foreign format that can be read.
type Format struct {
	// Name is the name users know it by, such as "csv".
	Name string
	// Doc is one line for help texts: what one record is.
	Doc string
	// Extensions are the name endings that mean this format, with their dot, in lower
	// case and without that of a compression.
	Extensions []string
	// Names are the names of files, written likewise, that mean this format.
	Names []string
	// Sniff reports whether head, the first bytes of the decompressed content (up to
	// SniffLen; fewer only if the input is shorter), can be nothing else. nil for
	// formats without a mark of their own.
	Sniff func(head []byte) bool

	// open begins to read an input; Run closes the input itself.
	open func(in Input, opts Options) (Decoder, error)
	// lines, instead of open, is for formats of lines, which are cut into blocks and
	// parsed in parallel.
	lines func(opts Options) lineFormat
}

// SniffLen is how many bytes of an input are looked at to find its format.
const SniffLen = 4096

// Formats lists every format that can be read. Sniff tries them in this order.
var Formats = []Format{
	csvFormat,
	tsvFormat,
	jsonlFormat,
	libsvmFormat,
	textFormat,
	imagesFormat,
	npyFormat,
	npzFormat,
	mnistFormat,
	cifar10Format,
	cifar100Format,
	pickleFormat,
	tfrecordFormat,
	tfrecordRawFormat,
	webdatasetFormat,
	parquetFormat,
}
