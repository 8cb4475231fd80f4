// Package recordio has the commands for files of records: paddlectl recordio.
//
// # Files
//
//	recordio                             the list of commands
//	bench, cat, diff, get, index, ls     the commands of those names; head is with cat, info with ls
//	merge, repair, split, stats, verify  recompress and salvage are with merge, reshard with split
//	write                                files of records, written
package recordio

import (
	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/urfave/cli/v2"
)

// Command returns the command recordio.
func Command(a *app.App) *cli.Command {
	return a.NewCommand(app.Spec{
		Name:    "recordio",
		Summary: "read, check, repair and rearrange RecordIO files",
		Text: `Works on RecordIO files: those of PaddlePaddle/recordio and its relatives. Files are
on this machine or, below /pfs/, on a service; "-" is standard input or output.
Quoted patterns work; a file that is named twice is read twice. docs/recordio.md
describes the format, damage and indexes.

Output files appear together when all are complete. They replace existing files only
with --force, and never an input file.`,
		Subs: []*cli.Command{
			lsCommand(a), infoCommand(a), catCommand(a), headCommand(a),
			getCommand(a), verifyCommand(a), repairCommand(a), salvageCommand(a),
			indexCommand(a), splitCommand(a), mergeCommand(a), reshardCommand(a),
			recompressCommand(a), diffCommand(a), statsCommand(a), benchCommand(a),
		},
	})
}
