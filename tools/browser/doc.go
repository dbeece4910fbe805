// Package browser tests the live page as a person uses it, in Debian's Chromium. It is a module of its own, so that the
// browser's driver is no part of Rivulet's: `make browser` runs it.
//
//	RIVULET_TEST_BIN      the directory of the programs; without it the tests are skipped
//	RIVULET_TEST_CHROMIUM the browser; empty: chromium, where the shell finds it
//	RIVULET_TEST_AXE      axe.min.js of axe-core; without it what that finds is not tested
//	RIVULET_TEST_DATA     a data set for the demo; empty: its generated graph
//	RIVULET_TEST_SHOTS    a directory to which pictures of all views are written
//	RIVULET_TEST_DASHBOARDS
//	                      the directory with the page of tools/dashboards, for pictures of it; make dashboards sets it
//	RIVULET_TEST_MINUTES  how long the heaps of page and browser are watched; empty: not at all
package browser
