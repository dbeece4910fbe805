package peer;

import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.streaming.api.functions.async.ResultFuture;
import org.apache.flink.streaming.api.functions.async.RichAsyncFunction;

/**
 * Asks server.py, asynchronously: whatever waits while a request is under way is the next one, at most BATCH arrivals. So a single arrival
 * waits for nobody, and a backlog travels in full batches.
 */
final class Serve extends RichAsyncFunction<Messages.Request, Messages.Prediction> {
    static final int BATCH = 256;

    private record Waiting(Messages.Request request, ResultFuture<Messages.Prediction> answer) {}

    private final String socket;
    private final boolean gathered;
    private transient LinkedBlockingQueue<Waiting> queue;
    private transient Thread sender;
    private transient volatile boolean closed;

    Serve(String socket, boolean gathered) {
        this.socket = socket;
        this.gathered = gathered;
    }

    @Override
    public void open(OpenContext context) {
        queue = new LinkedBlockingQueue<>();
        sender = new Thread(this::run, "asks the model server");
        sender.setDaemon(true);
        sender.start();
    }

    @Override
    public void close() throws Exception {
        closed = true;
        if (sender != null) {
            sender.interrupt();
            sender.join();
        }
    }

    @Override
    public void asyncInvoke(Messages.Request request, ResultFuture<Messages.Prediction> answer) {
        queue.add(new Waiting(request, answer));
    }

    private void run() {
        List<Waiting> batch = new ArrayList<>();
        try (SocketChannel channel = connect()) {
            while (!closed) {
                batch.add(queue.take());
                queue.drainTo(batch, BATCH - 1);
                ask(channel, batch);
                batch.clear();
            }
        } catch (InterruptedException | IOException e) {
            if (!closed) {
                batch.forEach(w -> w.answer.completeExceptionally(e));
            }
        }
    }

    private SocketChannel connect() throws IOException, InterruptedException {
        for (int tries = 0; ; tries++) {
            SocketChannel channel = SocketChannel.open(StandardProtocolFamily.UNIX);
            try {
                channel.connect(UnixDomainSocketAddress.of(socket));
                return channel;
            } catch (IOException e) {
                channel.close();
                if (tries == 600) {
                    throw e;
                }
                TimeUnit.MILLISECONDS.sleep(100);
            }
        }
    }

    private void ask(SocketChannel channel, List<Waiting> batch) throws IOException {
        int floats = 0;
        int neighbours = 0;
        for (Waiting w : batch) {
            floats += w.request.features.length + (gathered ? w.request.first.length + w.request.second.length : 0);
            neighbours += w.request.neighbours.length;
        }
        int length = 4 + 4 * batch.size() + 4 * floats + (gathered ? 0 : 4 * neighbours);
        ByteBuffer body = ByteBuffer.allocateDirect(4 + length).order(ByteOrder.LITTLE_ENDIAN);
        body.putInt(length).putInt(batch.size());
        batch.forEach(w -> body.putInt(w.request.neighbours.length));
        if (!gathered) {
            batch.forEach(w -> put(body, w.request.neighbours));
        }
        batch.forEach(w -> put(body, w.request.features));
        if (gathered) {
            batch.forEach(w -> put(body, w.request.first));
            batch.forEach(w -> put(body, w.request.second));
        }
        body.flip();
        while (body.hasRemaining()) {
            channel.write(body);
        }
        ByteBuffer answers = ByteBuffer.allocate(8 * batch.size()).order(ByteOrder.LITTLE_ENDIAN);
        while (answers.hasRemaining()) {
            if (channel.read(answers) < 0) {
                throw new IOException("the model server has gone");
            }
        }
        for (int i = 0; i < batch.size(); i++) {
            Messages.Prediction prediction = new Messages.Prediction();
            prediction.id = batch.get(i).request.id;
            prediction.label = answers.getInt(4 * i);
            prediction.probability = answers.getFloat(4 * (batch.size() + i));
            batch.get(i).answer.complete(Collections.singleton(prediction));
        }
    }

    private static void put(ByteBuffer body, int[] values) {
        body.asIntBuffer().put(values);
        body.position(body.position() + 4 * values.length);
    }

    private static void put(ByteBuffer body, float[] values) {
        body.asFloatBuffer().put(values);
        body.position(body.position() + 4 * values.length);
    }
}
