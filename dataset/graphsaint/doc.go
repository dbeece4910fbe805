// Package graphsaint reads the JSON files of a data set in GraphSAINT's layout: class_map.json ([ReadClasses], or
// [ReadLabels]), role.json ([ReadRoles]), and lists of names ([ReadNames]), which package dataset adds to the layout.
//
// The files may come from anywhere. They are read element by element, so that a file never takes more memory than its
// result, and a key that occurs twice is refused, which encoding/json would pass over. An error says the key or the
// place in a list; the caller adds the file's name.
package graphsaint
