package peer;

import java.io.IOException;
import java.nio.ByteOrder;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.BitSet;

/** T in nodes.bin, mapped: original.py says how it lies there. A file may have 2 GB. */
final class Original {
    final int nodes;
    final int features;
    private final MappedByteBuffer bytes;

    Original(Path file) throws IOException {
        try (FileChannel channel = FileChannel.open(file)) {
            bytes = channel.map(FileChannel.MapMode.READ_ONLY, 0, channel.size());
        }
        bytes.order(ByteOrder.LITTLE_ENDIAN);
        nodes = bytes.getInt(0);
        features = bytes.getInt(4);
    }

    private int offset(int row) {
        return Math.toIntExact(bytes.getLong(8 + 8 * row));
    }

    Messages.Node node(int row) {
        int at = offset(row);
        Messages.Node node = new Messages.Node();
        node.id = bytes.getInt(at);
        node.neighbours = new int[bytes.getInt(at + 4)];
        node.features = new float[features];
        bytes.slice(at + 8, 4 * node.neighbours.length).order(ByteOrder.LITTLE_ENDIAN).asIntBuffer().get(node.neighbours);
        bytes.slice(at + 8 + 4 * node.neighbours.length, 4 * features).order(ByteOrder.LITTLE_ENDIAN).asFloatBuffer().get(node.features);
        return node;
    }

    /** The ids of T. */
    BitSet ids() {
        BitSet ids = new BitSet();
        for (int row = 0; row < nodes; row++) {
            ids.set(bytes.getInt(offset(row)));
        }
        return ids;
    }
}
