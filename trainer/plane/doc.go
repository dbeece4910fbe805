// Package plane draws S: a place in the plane for each synthetic node, and a legend to it ([artifact.Map]).
//
//	points     N'×C     each node's row of the default model's last frozen table, or Â(A')²X' where the model has none
//	places     N'×2     the points in their first two principal directions, moved and scaled into a square
//	legend              mass, class shares, heaviest nodes of T, strongest features
package plane
