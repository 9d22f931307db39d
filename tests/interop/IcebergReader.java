import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.BaseTable;
import org.apache.iceberg.StaticTableOperations;
import org.apache.iceberg.Table;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.data.IcebergGenerics;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.hadoop.HadoopCatalog;
import org.apache.iceberg.hadoop.HadoopFileIO;
import org.apache.iceberg.hadoop.HadoopTables;
import org.apache.iceberg.io.CloseableIterable;

/**
 * Iceberg's own reader. A request is a line of words with tabs between: what to read by ("path" of a table, "warehouse" of
 * a Hadoop catalog and a name, "file" of metadata), then a snapshot's id, a tag's name or nothing; an answer is a line for
 * each row, and then an empty line or one that begins with "error".
 */
public class IcebergReader {
    private static final Configuration CONF = new Configuration();

    public static void main(String[] unused) throws Exception {
        BufferedReader requests = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream answers = new PrintStream(System.out, true, "UTF-8");
        System.setOut(System.err);
        for (String line = requests.readLine(); line != null; line = requests.readLine()) {
            try {
                String[] words = line.split("\t", -1);
                List<String> rows = rows(open(words), words[words.length - 1]);
                rows.forEach(answers::println);
                answers.println();
            } catch (Throwable error) {
                answers.println("error " + String.valueOf(error).replace('\n', ' '));
            }
        }
    }

    private static Table open(String[] words) {
        switch (words[0]) {
            case "path":
                return new HadoopTables(CONF).load(words[1]);
            case "warehouse":
                return new HadoopCatalog(CONF, words[1]).loadTable(TableIdentifier.parse(words[2]));
            case "file":
                return new BaseTable(new StaticTableOperations(words[1], new HadoopFileIO(CONF)), "t");
            default:
                throw new IllegalArgumentException(words[0]);
        }
    }

    private static List<String> rows(Table table, String state) throws Exception {
        IcebergGenerics.ScanBuilder scan = IcebergGenerics.read(table);
        int columns = table.schema().columns().size();
        if (!state.isEmpty()) {
            long id = state.matches("\\d+") ? Long.parseLong(state) : table.refs().get(state).snapshotId();
            scan = scan.useSnapshot(id);
            columns = table.schemas().get(table.snapshot(id).schemaId()).columns().size();
        }
        List<String> found = new ArrayList<>();
        try (CloseableIterable<Record> records = scan.build()) {
            for (Record record : records) {
                // Where there are deletion vectors, the position of each row comes behind its columns.
                found.add(json(record, columns));
            }
        }
        return found;
    }

    private static String json(Object value) {
        if (value == null || value instanceof Number || value instanceof Boolean) {
            boolean odd = value instanceof Double && (((Double) value).isNaN() || ((Double) value).isInfinite());
            return odd ? quoted(value) : String.valueOf(value);
        }
        List<String> parts = new ArrayList<>();
        if (value instanceof Record) {
            return json((Record) value, ((Record) value).size());
        } else if (value instanceof List) {
            ((List<?>) value).forEach(part -> parts.add(json(part)));
        } else if (value instanceof Map) {
            ((Map<?, ?>) value).forEach((key, part) -> parts.add("[" + json(key) + "," + json(part) + "]"));
        } else if (value instanceof ByteBuffer) {
            byte[] bytes = new byte[((ByteBuffer) value).remaining()];
            ((ByteBuffer) value).duplicate().get(bytes);
            return quoted(Base64.getEncoder().encodeToString(bytes));
        } else {
            return quoted(value);
        }
        return "[" + String.join(",", parts) + "]";
    }

    private static String json(Record record, int columns) {
        List<String> parts = new ArrayList<>();
        for (int i = 0; i < columns; i++) {
            parts.add(json(record.get(i)));
        }
        return "[" + String.join(",", parts) + "]";
    }

    private static String quoted(Object value) {
        StringBuilder text = new StringBuilder("\"");
        for (char c : String.valueOf(value).toCharArray()) {
            text.append(c < 0x20 || c == '"' || c == '\\' ? String.format("\\u%04x", (int) c) : String.valueOf(c));
        }
        return text.append('"').toString();
    }
}
