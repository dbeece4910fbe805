// Package durable writes files and directories so that they outlive a crash of the machine: a file is synced before
// it gets its name, and a directory after its entries have changed.
//
//	err := disk.WriteFile(dir, "role.json", encode)   // whole and synced, or not there
//	err = disk.SyncDir(dir)                           // its entries are durable
//	err = disk.Rename(old, dir)                       // and so is the new name
//	err = disk.Install(dir, fill)                     // a directory with all its files, or none
package durable
