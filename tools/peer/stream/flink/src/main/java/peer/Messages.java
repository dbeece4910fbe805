package peer;

/** What travels between operators: POJOs of primitive arrays, which Flink serialises without Kryo. */
public final class Messages {
    private Messages() {}

    /** An arrival: its id, its place in the topic, raw features of length d, and the ids of its neighbours that are in T. */
    public static class Arrival {
        public String id;
        public String key; // partition and offset: an id may come twice
        public float[] features;
        public int[] neighbours;
    }

    /** A node of T. */
    public static class Node {
        public int id;
        public int[] neighbours;
        public float[] features; // as the model reads them
    }

    /** A question to a node: of which arrival, and which of its neighbours asks or is asked. */
    public static class Ask {
        public int node;
        public String arrival;
        public int slot;
    }

    /** An answer: the features of a neighbour (asked: how many of its neighbours were asked), or of a neighbour's neighbour (asked -1). */
    public static class Part {
        public String arrival;
        public int slot;
        public int asked;
        public float[] features;
    }

    /** What the server gets of an arrival; first and second only where the job gathers them. */
    public static class Request {
        public String id;
        public float[] features;
        public int[] neighbours;
        public float[] first;  // k×d, features of the neighbours
        public float[] second; // k×d, means of the features of theirs
    }

    /** The answer to an arrival. */
    public static class Prediction {
        public String id;
        public int label;
        public float probability;
    }
}
