// Package graphsaint has the JSON files of a data set in GraphSAINT's layout: class_map.json ([ReadClasses], or
// [ReadLabels]) and role.json ([ReadRoles]); and those that package dataset adds to the layout: lists of names
// ([ReadNames]), merged.json ([Merged]) with what edges and labels are where they are not plain and the open ends of
// arrivals that were merged, and columns.json ([Column]) with the named columns that features were made of.
//
// The files may come from anywhere. They are read element by element, so that a file never takes more memory than its
// result, and a key that occurs twice is refused, which encoding/json would pass over. An error says the key or the
// place in a list; the caller adds the file's name.
package graphsaint
