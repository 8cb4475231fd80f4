package hdfsfs

import "os"

func writeLocal(name string, data []byte) error { return os.WriteFile(name, data, 0o600) }
