import java.util.ArrayList;
import java.util.List;

import org.apache.paimon.catalog.Catalog;
import org.apache.paimon.catalog.CatalogContext;
import org.apache.paimon.catalog.CatalogFactory;
import org.apache.paimon.catalog.Identifier;
import org.apache.paimon.disk.IOManager;
import org.apache.paimon.fs.Path;
import org.apache.paimon.globalindex.btree.BTreeGlobalIndexBuilder;
import org.apache.paimon.table.Table;
import org.apache.paimon.table.sink.BatchTableCommit;
import org.apache.paimon.table.sink.CommitMessage;
import org.apache.paimon.table.source.DataSplit;

/** Builds a B-tree global index: the arguments are the warehouse, the table and the column. */
public class GlobalIndexBuild {
    public static void main(String[] arguments) throws Exception {
        System.setProperty("slf4j.internal.verbosity", "ERROR");
        Catalog catalog = CatalogFactory.createCatalog(CatalogContext.create(new Path(arguments[0])));
        Table table = catalog.getTable(Identifier.fromString(arguments[1]));
        BTreeGlobalIndexBuilder builder = new BTreeGlobalIndexBuilder(table).withIndexField(arguments[2]);
        IOManager disk = IOManager.create(System.getProperty("java.io.tmpdir"));
        List<CommitMessage> messages = new ArrayList<>();
        for (DataSplit split : builder.incrementalScan().get().getValue()) {
            messages.addAll(builder.build(split, disk));
        }
        try (BatchTableCommit commit = table.newBatchWriteBuilder().newCommit()) {
            commit.commit(messages);
        }
    }
}
