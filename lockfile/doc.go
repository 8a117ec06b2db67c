// Package lockfile keeps a baseline on disk: which tools were approved, and what they looked like then.
//
//	{
//	  "version": 1,
//	  "tools": [
//	    {
//	      "server": "fs",
//	      "name": "write",
//	      "fingerprint": "penstock1:3f5a…",
//	      "digests": {
//	        "description": "digest1:77b0…",
//	        "input_schema": "digest1:a81c…"
//	      },
//	      "definition": {
//	        "description": "Write a file.",
//	        "inputSchema": {
//	          "type": "object"
//	        },
//	        "name": "write"
//	      }
//	    }
//	  ]
//	}
//
// The fingerprint is what the engine compares. The digests, one for each part of a definition that the tool has, tell
// which part changed; the definition shows how. Digests and definitions may be left out, and whatever is there must fit
// the rest: a file that was edited by hand does not load.
//
// The file is meant for version control and for review. Equal baselines are equal files, byte for byte: entries are
// sorted by server and name, keys are sorted, every value has a line of its own. What does not print, such as a
// character that reverses the text behind it, is written as an escape.
//
// Reading is strict. A file that is damaged, cut off, or says anything this package does not know is an error with its
// place, and never an empty baseline, which would make every tool new and every pin vanish. Writing is atomic: see
// [File.Save].
package lockfile
