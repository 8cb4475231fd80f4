package webhdfs

import (
	"context"
	"math"

	"github.com/paddlecloud/pfs/pfs"
)

// locate returns where the range of the file is that the request names. A store that does not tell has it all at this
// machine.
func (c *call) locate(ctx context.Context) (info pfs.Info, list []pfs.BlockLocation, err error) {
	off, err := c.params.long("offset", 0, 0)
	if err != nil {
		return info, nil, err
	}
	n, err := c.params.long("length", 0, math.MaxInt64)
	if err != nil {
		return info, nil, err
	}
	if info, err = c.stat(ctx); err != nil {
		return info, nil, err
	}
	if info.IsDir() {
		return info, nil, missing("Path is not a file: %s", c.asked)
	}
	if off >= info.Size {
		return info, nil, nil
	}
	n = min(n, info.Size-off)
	list, err = pfs.LocateBlocks(ctx, c.fs(), c.path, off, n)
	if isKind(err, pfs.Unsupported) {
		list, err = []pfs.BlockLocation{{Length: info.Size, Hosts: []string{"localhost"}}}, nil
	}
	return info, list, err
}

// getFileBlockLocations carries out GETFILEBLOCKLOCATIONS.
func getFileBlockLocations(ctx context.Context, c *call) (answer, error) {
	_, list, err := c.locate(ctx)
	blocks := []any{}
	for _, b := range list {
		names, topology := []string{}, []string{}
		for _, h := range b.Hosts {
			names = append(names, h+":9866")
			topology = append(topology, "/default-rack/"+h+":9866")
		}
		blocks = append(blocks, map[string]any{
			"cachedHosts": []string{}, "corrupt": false, "hosts": b.Hosts, "length": b.Length, "names": names,
			"offset": b.Offset, "storageTypes": []string{}, "topologyPaths": topology,
		})
	}
	return answer{body: named("BlockLocations", named("BlockLocation", blocks))}, err
}

// getBlockLocations carries out GET_BLOCK_LOCATIONS, which older clients use. Its blocks have no DataNodes, because no
// client may go to one.
func getBlockLocations(ctx context.Context, c *call) (answer, error) {
	info, list, err := c.locate(ctx)
	blocks := []any{}
	var last any
	for i, b := range list {
		last = map[string]any{
			"block":      map[string]any{"blockId": i + 1, "blockPoolId": "pfs", "generationStamp": 0, "numBytes": b.Length},
			"blockToken": map[string]any{"urlString": "AAAAAA"}, "cachedLocations": []any{}, "isCorrupt": false,
			"locations": []any{}, "startOffset": b.Offset, "storageTypes": []any{},
		}
		blocks = append(blocks, last)
	}
	return answer{body: named("LocatedBlocks", map[string]any{
		"fileLength": info.Size, "isLastBlockComplete": true, "isUnderConstruction": false, "lastLocatedBlock": last, "locatedBlocks": blocks,
	})}, err
}
