// Package recordio has the commands for files of records: paddlectl recordio.
//
// # Files
//
//	recordio                                the list of commands
//	bench, cat, diff, get, head, index      the command of that name
//	info, ls, merge, recompress, repair
//	reshard, salvage, split, stats, verify
//	format, splitter, write                 records shown, shared out to files, written
package recordio

import (
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/app"
	"github.com/urfave/cli/v2"
)

func Command(a *app.App) *cli.Command {
	return a.NewCommand(app.Spec{
		Name:    "recordio",
		Summary: "read, check, mend and rearrange RecordIO files",
		Text: `Works on RecordIO files: those of PaddlePaddle/recordio and its relatives. Files are
on this machine or, below /pfs/, on a service; "-" is standard input or output.
Quoted patterns work; a file that is named twice is read twice. docs/recordio.md tells
of the format, of damage and of indexes.

A file that is made appears under its name when it is whole, several of them
together. None replaces a file that exists, unless --force is given, and none
replaces one that is read.`,
		Subs: []*cli.Command{
			recordioLsCommand(a), recordioInfoCommand(a), recordioCatCommand(a), recordioHeadCommand(a),
			recordioGetCommand(a), recordioVerifyCommand(a), recordioRepairCommand(a), recordioSalvageCommand(a),
			recordioIndexCommand(a), recordioSplitCommand(a), recordioMergeCommand(a), recordioReshardCommand(a),
			recordioRecompressCommand(a), recordioDiffCommand(a), recordioStatsCommand(a), recordioBenchCommand(a),
		},
	})
}
