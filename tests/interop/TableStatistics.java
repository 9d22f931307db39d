import org.apache.paimon.catalog.Catalog;
import org.apache.paimon.catalog.CatalogContext;
import org.apache.paimon.catalog.CatalogFactory;
import org.apache.paimon.catalog.Identifier;
import org.apache.paimon.fs.Path;
import org.apache.paimon.stats.Statistics;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.sink.BatchTableCommit;

/** Arguments are a warehouse, a table and perhaps statistics as JSON, which are committed; prints those there are. */
public class TableStatistics {
    public static void main(String[] arguments) throws Exception {
        System.setProperty("slf4j.internal.verbosity", "ERROR");
        Catalog catalog = CatalogFactory.createCatalog(CatalogContext.create(new Path(arguments[0])));
        Identifier name = Identifier.fromString(arguments[1]);
        if (arguments.length > 2) {
            Statistics given = Statistics.fromJson(arguments[2]);
            given.deserializeFieldsFromString(((FileStoreTable) catalog.getTable(name)).schema());
            try (BatchTableCommit commit = catalog.getTable(name).newBatchWriteBuilder().newCommit()) {
                commit.updateStatistics(given);
            }
        }
        FileStoreTable table = (FileStoreTable) catalog.getTable(name);
        // What is read has its values as those of the columns' types; as JSON it says the same as the file.
        Statistics found = table.statistics().get();
        found.serializeFieldsToString(table.schema());
        System.out.println(found.toJson());
    }
}
